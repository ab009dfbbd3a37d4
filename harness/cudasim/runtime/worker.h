// A worker runs blocks of a launch, one after another, on one host thread; each CUDA thread that must wait
// gets a fiber of its own.
#pragma once
#include <time.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "fiber.h"
#include "sim/abi.h"
#include "report.h"

namespace sim {

constexpr unsigned warp_size = 32;
constexpr size_t shared_capacity = 248 * 1024;  // a little over what sm_90 lends a block
constexpr size_t shared_guard = 1 << 20;

constexpr double most_slowed = 3;

inline double seconds_of(clockid_t clock) {
  timespec time;
  clock_gettime(clock, &time);
  return time.tv_sec + 1e-9 * time.tv_nsec;
}

struct Launch {
  dim3 grid, block;
  size_t dynamic_shared;
  size_t shared_limit;  // static and dynamic together
  const char* kernel;
  Source source;
  sim_kernel_fn body;
  void* argument;
  std::vector<uint64_t> blocks;  // those to run when sampling; empty for all
  std::atomic<uint64_t> next_block{0};
  std::atomic<bool> is_aborted{false};
  std::atomic<bool> has_atomics{false};
  std::atomic<uint64_t> done{0};
  unsigned at_once = 1;  // threads of the host that run its blocks
  double began_s = seconds_of(CLOCK_MONOTONIC), computed_before_s = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
  Source nested{};  // where one of its threads would launch a kernel
  bool is_cooperative = false;  // all of its blocks are there at once, and may wait for each other
  bool is_reversed = false;     // the threads of a block run from the last to the first
  const char* gap = nullptr;    // why it can't be simulated after all

  uint64_t grid_blocks() const { return uint64_t(grid.x) * grid.y * grid.z; }
  uint64_t blocks_to_run() const { return blocks.empty() ? grid_blocks() : blocks.size(); }
  uint64_t block_number(uint64_t i) const { return blocks.empty() ? i : blocks[i]; }
  unsigned threads() const { return block.x * block.y * block.z; }
  double by_clock_s() const { return seconds_of(CLOCK_MONOTONIC) - began_s; }
  // As long as it takes on processors of its own, where it doesn't wait for its turns beside other programs.
  double computed_s() const {
    return std::min(by_clock_s(), (seconds_of(CLOCK_PROCESS_CPUTIME_ID) - computed_before_s) / at_once);
  }
  double seconds() const { return std::max(computed_s(), by_clock_s() / most_slowed); }
};

// After each block that has ended: gives the launch up where the time that its first blocks took says that the turn's
// launches would take too long. A block that never ends says nothing of the kind.
void count_block(Launch& launch);
// The same now and then in a launch whose blocks end together.
void count_round(Launch& launch);

enum class ThreadState : uint8_t { fresh, running, at_barrier, at_grid_barrier, in_collective, at_object, converging, ready, exited };

struct Thread {
  ThreadState state = ThreadState::fresh;
  Fiber* fiber = nullptr;
  Source barrier;          // or the line where it converges
  unsigned converged = 0;  // the lanes it converged with
  const void* object = nullptr;  // that it waits for: an mbarrier, or a named barrier
  sim_woken woken = sim_woken_in_vain;
};

// Bytes on their way into shared memory.
struct BulkCopy {
  struct alignas(16) Unit {
    char bytes[16];
  };
  void* to = nullptr;
  std::vector<Unit> units;
};

// An mbarrier: a phase passes when all have arrived and all bytes that were expected have come.
struct Mbarrier {
  unsigned expected = 0, pending = 0, parity = 0;
  int64_t nbytes = 0;  // expected less those that have come
  std::deque<BulkCopy> copies;
  BulkCopy taken;
};

// Lanes of a warp that meet: each leaves up to 16 bytes for the others.
struct Collective {
  unsigned mask, arrived, still_reading, size;
  const char* what;
  Source source;
  alignas(16) char values[warp_size][16];
};

struct Warp {
  unsigned present = 0, exited = 0;
  std::vector<Collective*> pending;
  uint32_t syncs = 0;  // collectives that its lanes have met at

  bool is_complete(const Collective& met) const { return ((met.arrived | exited | ~present) & met.mask) == met.mask; }
};

// Of a thread's: what cp.async has read and not yet written, and how many there were at each commit.
struct AsyncCopy {
  void* to;
  unsigned size;
  alignas(16) char bytes[16];
};
struct AsyncCopies {
  std::vector<AsyncCopy> issued;
  std::vector<size_t> groups;
  size_t taken = 0;
};

struct Vote {
  int count = 0;
  bool all = true, any = false;
};

struct SharedVariable {
  const void* key;
  char* address;
  size_t nbytes;
  const char* names;  // as declared; null for the dynamic array

  std::string name() const { return names ? std::string("shared `") + names + '`' : "the dynamic shared memory"; }
};

// What a launch was given, as far as it is a pointer; `is_opaque` is a structure, which may hold any.
struct KernelArgument {
  const void* pointer;
  int position;
  bool is_const, is_opaque;
};

class Checker;

// Why a block's worker came back: all threads have exited, or wait for other blocks, or one gave its turn to them; or
// the launch is over.
enum class Pause { done, at_grid_barrier, gave_turn, aborted };

class Worker {
 public:
  // Guard pages around stacks find a stack that overflows; the system has no room for those of a whole grid.
  explicit Worker(bool guards_stacks = true);
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  void run(Launch& launch);

  // For a worker that has one block of a cooperative launch: begin, then go on until it pauses.
  void begin(Launch& launch, uint64_t number);
  Pause go_on();
  void release_grid_barrier();
  void report_grid_deadlock(const std::string& detail);
  void end();

  // Called on a fiber.
  void wait_at_grid_barrier(const Source& source);
  void wait_at_barrier(int predicate, const Source& source);
  void wait_at_named_barrier(unsigned number, unsigned count, bool waits, const Source& source);
  void begin_mbarrier(void* barrier, unsigned count, const Source& source);
  Mbarrier& mbarrier(const void* barrier, const Source& source);
  unsigned arrive(void* barrier, unsigned count, int nbytes, bool drops_out, const Source& source);
  sim_woken wait_at_mbarrier(const void* barrier, unsigned parity, const Source& source);
  void wake(const void* object, sim_woken why);
  Collective* meet(unsigned mask, const void* mine, unsigned size, const char* what, const Source& source);
  void leave(Collective* met);
  unsigned converge(const Source& source);
  void yield();
  void yield_now();
  void* shared_static(const void* key, size_t size, size_t alignment, const char* names);
  void* shared_dynamic() { return dynamic_shared_; }
  AsyncCopies& copies() {
    copies_.resize(threads_total_);
    return copies_[current->thread];
  }
  bool guards_shared(const void* address) const {
    return address >= shared_ - shared_guard && address < shared_ + shared_capacity + shared_guard;
  }
  // For the checker: the variable that holds an address, and the last that begins before it; null where there is none.
  const SharedVariable* shared_variable_at(uintptr_t address) const;
  const SharedVariable* shared_variable_before(uintptr_t address) const;
  uintptr_t shared_start() const { return reinterpret_cast<uintptr_t>(shared_); }
  uint32_t barriers_met() const { return barriers_met_; }
  unsigned lane() const { return current->thread % warp_size; }
  Warp& warp() { return warps_[current->thread / warp_size]; }
  // Gives up the block and the launch; does not return. Also called from a signal handler.
  [[noreturn]] void abandon_block();

  // threadIdx and its kind, of the host thread that runs the worker.
  bool is_index(uintptr_t address) const { return address - index_begin_ < index_nbytes_; }

  Launch* launch = nullptr;
  Fiber* current = nullptr;
  Vote last_vote;
  Checker* checker = nullptr;  // in the checked build alone

 private:
  static void fiber_main();

  void prepare(Launch& launch);
  void begin_block(uint64_t number);
  void reset_block();
  void run_fresh_threads(Fiber* self);
  unsigned in_order(unsigned place, unsigned total) const { return launch->is_reversed ? total - 1 - place : place; }
  void exit_thread(unsigned thread);
  void count_as_arrived(Warp& left, unsigned thread);
  void release_barrier();
  bool release_converged();
  bool release_in_vain();
  sim_woken wait_for(const void* object, const Source& source);
  void complete(Warp& warp, Collective* met, unsigned first_thread);
  void make_ready(unsigned thread);
  void suspend(bool leaves_block = false);
  void switch_to(Fiber* next, Fiber* self);
  Fiber* next_fiber();
  Fiber* take_idle();
  void reset_fibers();
  void report_deadlock();
  void report_early_exit(const Source& barrier);
  void report_divergence();
  void poison_shared();

  uint3 block_index_{};
  std::vector<std::unique_ptr<Fiber>> fibers_;
  std::vector<Fiber*> idle_, ready_;
  size_t ready_head_ = 0;
  void* host_stack_ = nullptr;
  const bool guards_stacks_;

  unsigned threads_total_ = 0, next_thread_ = 0, exited_ = 0, waiting_ = 0, at_grid_ = 0, converging_ = 0;
  uint3 next_index_{};  // of thread next_thread_
  std::vector<Thread> threads_;
  std::vector<Warp> warps_;
  std::vector<AsyncCopies> copies_;  // by thread, of a block that has any
  std::map<const void*, Mbarrier> mbarriers_;
  unsigned named_[16] = {};  // arrivals at each named barrier
  uint64_t made_ready_ = 0, woken_in_vain_ = 0;  // how many times threads were, and how many before the last in vain
  unsigned looks_in_vain_ = 0;  // one after the other
  std::vector<std::unique_ptr<Collective>> collectives_;
  std::vector<Collective*> free_collectives_;
  Vote vote_;
  int first_line_ = 0;  // of the __syncthreads() that the first to wait waits at
  bool lines_differ_ = false;
  uintptr_t index_begin_ = 0, index_nbytes_ = 0;
  uint32_t barriers_met_ = 0;
  bool early_exit_reported_ = false;
  bool is_abandoned_ = false;
  unsigned atomics_ = 0;

  char* shared_ = nullptr;  // the arena; its end lies at a guard page
  char* dynamic_shared_ = nullptr;
  char* lowest_shared_ = nullptr;
  size_t shared_gaps_ = 0;  // that the checker leaves between variables, and no GPU has
  std::vector<SharedVariable> variables_;
};

extern __thread __attribute__((tls_model("initial-exec"))) Worker* worker;

}  // namespace sim
