// The checked build: every access of a kernel, against the memory that it may use and the threads that it may meet.
#pragma once
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "memory.h"
#include "races.h"
#include "trace.h"
#include "worker.h"

namespace sim {

struct Access {
  uintptr_t address;
  size_t nbytes;
  bool reads, writes, is_atomic, is_volatile;
  Site site;
};

// Blocks run one after another when checked, so there is one of these; but one for each block of a cooperative launch,
// whose blocks take turns.
class Checker {
 public:
  // Between launches, on the launching thread.
  void begin_launch(const Launch& launch, const std::vector<KernelArgument>& arguments);
  void begin_block(Worker& worker);

  // Of the thread that launched: a kernel's arguments lie there.
  bool is_launch_stack(uintptr_t address) const { return address - stack_begin_ < stack_nbytes_; }

  // On a fiber.
  void access(const Access& access);
  // `source` is the place that the compiler named itself.
  void report_at(const Source& source, const char* kind, const std::string& detail, const Site& site);
  [[noreturn]] void fault_at(const Source& source, const char* kind, const std::string& detail, const Site& site,
                             cudaError_t error);
  // In words: the bytes at an address, which may be anywhere.
  std::string describe(uintptr_t address, size_t nbytes);
  // All threads of the block have met.
  void end_interval() { threads_.begin_interval(); }
  // What the thread has done so far comes before what others do once they have acquired the same object.
  void release(const void* object);
  void acquire(const void* object);
  // An mbarrier is initialised; who looks at it without being ordered after that is at fault.
  void begin_mbarrier(const void* barrier) { begun_[barrier] = now(); }
  void use_mbarrier(const void* barrier, const Source& source);
  // All blocks have met, and are told so in their order.
  void pass_grid_barrier();
  // Before the thread gives way to others.
  void settle_write();
  // Before the thread meets others or ends: what it has not done by now it won't do in time.
  void settle();

 private:
  // The memory that an access falls into.
  struct Place {
    Shadow* shadow = nullptr;
    Races* races = nullptr;
    uintptr_t start = 0;
    size_t nbytes = 0;
    const SharedVariable* variable = nullptr;  // null in global memory
    bool is_input = false, is_constant = false;
  };
  // A write over another thread's: a fault if it changes anything, a remark if not.
  struct Overwrite {
    bool is_pending = false;
    Access access{};
    char before[16] = {};
    Conflict conflict;
    Place place;
  };
  // A plain read of what another thread changed atomically: allowed if the reader goes on to change it atomically too.
  struct Doubt {
    unsigned thread;
    Access access;
    Conflict conflict;
    Place place;
    std::vector<void*> callers;
  };

  bool find(uintptr_t address, size_t nbytes, Place& place);
  bool find_shared(uintptr_t address, size_t nbytes, Place& place);
  bool find_global(uintptr_t address, size_t nbytes, Place& place);
  bool is_in_module(uintptr_t address, size_t nbytes);
  bool was_given_as_constant(const Allocation& allocation) const;

  void check_permission(const Access& access, const Place& place);
  void check_contents(const Access& access, const Place& place, size_t index, unsigned mask);
  void check_order(const Access& access, const Place& place, size_t index, unsigned mask, const Actor& self,
                   Conflict& worst);
  void synchronize(const Access& access, const Place& place, const Actor& self);
  void take_conflict(const Access& access, const Place& place, const Conflict& conflict);
  [[noreturn]] void refuse(const Access& access);

  void report_access(const char* kind, const Access& access, const std::string& detail);
  void report_race(const Access& access, const Place& place, const Conflict& conflict, bool is_harmless,
                   const std::vector<void*>& callers);
  std::vector<void*> trace(const Site& site) const;
  std::string where(const Place& place, uintptr_t address) const;
  std::string missed(uintptr_t address, size_t nbytes) const;
  std::string missed_shared(uintptr_t address, size_t nbytes) const;
  std::string name_of(uintptr_t start, size_t nbytes) const;
  std::string thread_of(const Conflict& conflict) const;
  Actor actor(const Access& access, const Place& place) const;
  Actor now() const;

  Worker* worker_ = nullptr;
  const Launch* launch_ = nullptr;
  std::vector<Allocation> allocations_;  // by address
  std::vector<KernelArgument> arguments_;
  std::vector<bool> is_constant_;        // by allocation
  std::vector<std::pair<uintptr_t, uintptr_t>> modules_;
  uintptr_t stack_begin_ = 0, stack_nbytes_ = 0;
  size_t latest_ = 0;  // the allocation that was found last
  Shadow shared_shadow_{shared_capacity, false};
  BlockOrder blocks_;
  ThreadOrder threads_;
  Races shared_races_{blocks_, threads_}, global_races_{blocks_, threads_};
  static inline uint32_t next_block_ = 1;  // of whichever checker
  uint32_t first_block_ = 1, block_ = 0;
  Overwrite overwrite_;
  std::vector<Doubt> doubts_;
  std::map<const void*, Actor> begun_;  // mbarriers
};

}  // namespace sim
