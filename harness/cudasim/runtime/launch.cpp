// A launch: checked against the limits of sm_90, then its blocks shared out among host threads.
#define HARNESS_SIM_DEVICE 1
#include <dlfcn.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <mutex>
#include <random>
#include <set>
#include <stdexcept>
#include <thread>

#include "checker.h"
#include "faults.h"
#include "grid.h"
#include "kernel_table.h"
#include "memory.h"
#include "worker.h"

namespace sim {
namespace {

constexpr unsigned max_threads = 1024, max_block_z = 64;
constexpr unsigned max_grid_x = 2147483647, max_grid_yz = 65535;
// Below this many CUDA threads a launch is done sooner than a second host thread starts.
constexpr uint64_t worth_a_thread = 2048;
// Of the time that a turn's launches may take, so much passes before a launch's first blocks speak for the rest: the
// very first ones meet cold memory.
constexpr double trusted_share = 1.0 / 16;
// A launch of which all blocks must run may take so much where others run a few.
constexpr double cooperative_s = 20;

std::mutex launch_mutex;  // one launch at a time, as in one stream
std::mutex nested_mutex;
std::vector<std::unique_ptr<Worker>> workers;
std::unique_ptr<Checker> checker;
thread_local std::vector<KernelArgument> arguments;  // of the launch that comes next
uint64_t sampled_blocks = 0, sampling_seed = 0;
bool is_idle = false;  // no launch does anything
bool is_reversed = false;
double work_s = 0, spent_s = 0;  // what a turn's launches may take together, 0 for any time; and what they have taken

std::string describe(const dim3& d) {
  return '(' + std::to_string(d.x) + ", " + std::to_string(d.y) + ", " + std::to_string(d.z) + ')';
}

bool fits(const dim3& grid, const dim3& block) {
  uint64_t threads = uint64_t(block.x) * block.y * block.z;
  bool block_fits = threads > 0 && threads <= max_threads && block.x <= max_threads && block.y <= max_threads &&
                    block.z <= max_block_z;
  bool grid_fits = grid.x > 0 && grid.y > 0 && grid.z > 0 && grid.x <= max_grid_x && grid.y <= max_grid_yz &&
                   grid.z <= max_grid_yz;
  return block_fits && grid_fits;
}

// The error is the one that CUDA 13 leaves for both (H100, driver 580); CUDA 12 calls the first an invalid configuration.
bool is_accepted(const Launch& launch) {
  if (!fits(launch.grid, launch.block)) {
    raise_launch_error(cudaErrorInvalidValue,
                       "grid " + describe(launch.grid) + " of blocks " + describe(launch.block) +
                           " is outside the device's limits: 1 to 1024 threads in a block, grid at most (2147483647, "
                           "65535, 65535)",
                       launch.kernel, launch.source);
    return false;
  }
  if (launch.dynamic_shared <= launch.shared_limit) return true;
  bool can_opt_in = launch.dynamic_shared <= most_shared;
  raise_launch_error(cudaErrorInvalidValue,
                     std::to_string(launch.dynamic_shared) + " bytes of dynamic shared memory, " +
                         std::to_string(launch.shared_limit) + " are allowed" +
                         (can_opt_in ? " without cudaFuncSetAttribute(MaxDynamicSharedMemorySize)" : "") +
                         "; grid " + describe(launch.grid) + ", block " + describe(launch.block),
                     launch.kernel, launch.source);
  return false;
}

std::vector<uint64_t> choose_blocks(uint64_t total) {
  if (!sampled_blocks || sampled_blocks >= total) return {};
  std::mt19937_64 random(sampling_seed);
  std::set<uint64_t> chosen{0};
  if (sampled_blocks > 1) chosen.insert(total - 1);
  while (chosen.size() < sampled_blocks) chosen.insert(random() % total);
  return {chosen.begin(), chosen.end()};
}

unsigned processors() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  return std::clamp(CPU_COUNT(&set), 1, 64);
}

uint64_t workers_for(const Launch& launch) {
  uint64_t blocks = launch.blocks_to_run();
  uint64_t wanted = std::max<uint64_t>(1, blocks * launch.threads() / worth_a_thread);
  return std::min({uint64_t(processors()), blocks, wanted});
}

void run(Launch& launch) {
  FaultHandlers handlers;
  // The checker follows one thread at a time.
  uint64_t count = launch.at_once = sim_is_checking() ? 1 : workers_for(launch);
  while (workers.size() < count) workers.push_back(std::make_unique<Worker>());
  uint3 thread = threadIdx, block = blockIdx;
  std::vector<std::thread> others;
  for (uint64_t i = 1; i < count; i++) others.emplace_back([&launch, i] { workers[i]->run(launch); });
  workers[0]->checker = sim_is_checking() ? checker.get() : nullptr;
  workers[0]->run(launch);
  for (auto& other : others) other.join();
  threadIdx = thread;
  blockIdx = block;
}

// No exception leaves a fiber: the launch throws for its threads, once they are given up.
[[noreturn]] void refuse_nested(const Source& source) {
  {
    std::lock_guard<std::mutex> guard(nested_mutex);
    if (!worker->launch->nested.line) worker->launch->nested = source;
  }
  worker->abandon_block();
}

void give_up(Launch& launch, const std::string& why) {
  if (launch.is_aborted.exchange(true)) return;
  report("too-much-work", why, launch.source);
  raise_sticky(cudaErrorLaunchTimeout);
}

std::string tenths(double seconds) {
  uint64_t rounded = std::llround(std::min(seconds, 1e15) * 10);
  return std::to_string(rounded / 10) + '.' + std::to_string(rounded % 10) + " s";
}

void throw_if_nested(const Launch& launch) {
  if (!launch.nested.line) return;
  std::string file = launch.nested.file;
  std::string gap = "dynamic parallelism at line " + std::to_string(launch.nested.line) + " of " +
                    file.substr(file.rfind('/') + 1);
  sim_refuse(gap.c_str());
}

// At the launch: a solution that ends its process where the next call tells of an error would take along what was seen.
// Nobody catches it in a thread of the solution's, whose next call tells.
void throw_if_failed() {
  if (sim_sticky_error() == cudaSuccess || gettid() != getpid()) return;
  throw std::runtime_error(std::string("CUDA error: ") + sim_error_string(sim_sticky_error()));
}

}  // namespace

void count_block(Launch& launch) {
  uint64_t done = ++launch.done, all = launch.blocks_to_run();
  if (!work_s || done == all || spent_s + launch.by_clock_s() * all / done <= work_s) return;
  double took = launch.seconds();
  double whole = std::max(took, launch.computed_s() * all / done);
  bool is_told = took >= trusted_share * work_s;  // a few blocks say nothing of all
  if (spent_s + (is_told ? whole : took) <= work_s) return;
  give_up(launch, std::to_string(done) + " of " + std::to_string(all) + " blocks took " + tenths(took) +
                      ", so all of them would take " + tenths(whole) + "; launches before it took " +
                      tenths(spent_s) + " of the " + tenths(work_s) + " that a turn has");
}

void count_round(Launch& launch) {
  double took = launch.seconds();
  if (work_s && spent_s + took > work_s)
    give_up(launch, "a cooperative launch took " + tenths(took) + " and hasn't ended; launches before it took " +
                        tenths(spent_s) + " of the " + tenths(work_s) + " that a turn has");
  if (!work_s && sampled_blocks && took > cooperative_s) {
    launch.gap = "a cooperative launch of a large case, of which all blocks must run";
    launch.is_aborted = true;
  }
}

}  // namespace sim

using namespace sim;

extern "C" {

void sim_launch(dim3 grid, dim3 block, size_t dynamic_shared, const char* kernel, const char* file, int line,
                sim_kernel_fn body, void* argument, const sim_by_function* by_function) {
  if (worker) refuse_nested({file, line});
  std::vector<KernelArgument> given;
  given.swap(arguments);
  std::lock_guard<std::mutex> guard(launch_mutex);
  if (sim_sticky_error() != cudaSuccess) return throw_if_failed();
  Launch launch{};
  launch.grid = grid;
  launch.block = block;
  launch.dynamic_shared = dynamic_shared;
  launch.shared_limit = shared_limit(kernel, by_function ? by_function->kernel : nullptr);
  launch.is_cooperative = by_function && by_function->is_cooperative;
  launch.is_reversed = is_reversed;
  launch.kernel = kernel;
  launch.source = {file, line};
  launch.body = body;
  launch.argument = argument;
  if (!is_accepted(launch)) return;
  if (launch.is_cooperative && !is_accepted_grid(launch)) return;
  if (!launch.is_cooperative) launch.blocks = choose_blocks(launch.grid_blocks());
  count_launch(kernel, launch.grid_blocks());
  if (is_idle) return;
  if (launch.is_cooperative) {
    run_together(launch, given);
  } else {
    if (sim_is_checking()) {
      if (!checker) checker = std::make_unique<Checker>();
      checker->begin_launch(launch, given);
    }
    run(launch);
  }
  spent_s += launch.seconds();
  if (launch.has_atomics) count_atomics();
  throw_if_nested(launch);
  if (launch.gap) sim_refuse(launch.gap);
  throw_if_failed();
}

void sim_note_argument(const void* pointer, int position, bool is_const, bool is_opaque) {
  if (position == 1) arguments.clear();
  if (sim_is_checking()) arguments.push_back({pointer, position, is_const, is_opaque});
}

bool sim_is_device_memory(const void* pointer) { return is_near_device_memory(pointer); }

bool sim_accepts_pointer(const void* pointer, int position, const char* kernel, const char* file, int line) {
  Dl_info library;  // a __device__ variable lives in the extension
  if (!pointer || is_near_device_memory(pointer) || dladdr(pointer, &library)) return true;
  if (size_t freed = freed_nbytes(pointer))
    report_argument("freed-pointer", position, "device memory of " + std::to_string(freed) + " bytes that was freed",
                    kernel, {file, line});
  else
    report_argument("host-pointer", position, "the host's memory", kernel, {file, line});
  raise_sticky(cudaErrorIllegalAddress);
  return false;
}

bool sim_accepts_range(const void* pointer, size_t nbytes, const char* call) {
  if (!nbytes || is_device_range(pointer, nbytes)) return true;
  auto first = reinterpret_cast<uintptr_t>(pointer);
  uintptr_t missed = is_device_range(pointer, 1) ? first + nbytes - 1 : first;
  report("illegal-address", std::string(call) + ": " + describe_address(missed), {});
  raise_sticky(cudaErrorIllegalAddress);
  return false;
}

void sim_exceed_launch_bounds(unsigned most) {
  Launch& launch = *worker->launch;
  if (!launch.is_aborted.exchange(true))
    raise_launch_error(cudaErrorInvalidValue,
                       "blocks " + describe(launch.block) + " have more threads than __launch_bounds__ allows, " +
                           std::to_string(most),
                       launch.kernel, launch.source);
  worker->abandon_block();
}

void sim_sample_blocks(long count, unsigned long seed) {
  std::lock_guard<std::mutex> guard(launch_mutex);
  is_idle = count == 0;
  is_reversed = count < 0 && seed;
  sampled_blocks = count > 0 ? count : 0;
  sampling_seed = seed;
}

void sim_limit_work(double seconds) {
  std::lock_guard<std::mutex> guard(launch_mutex);
  work_s = seconds;
  spent_s = 0;
}
}
