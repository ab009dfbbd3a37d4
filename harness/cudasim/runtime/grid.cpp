#define HARNESS_SIM_DEVICE 1
#include "grid.h"

#include <signal.h>

#include <algorithm>
#include <memory>

#include "checker.h"
#include "faults.h"

namespace sim {
namespace {

constexpr int multiprocessors = 132, most_blocks = 32, most_threads = 2048;
// Of a kernel with 64 registers; a full multiprocessor takes one with 32.
constexpr int likely_threads = 1024;
constexpr size_t shared_of_multiprocessor = 233472, reserved_shared = 1024, most_dynamic_shared = 232448;
// Each thread that waits keeps two pages of its stack: about a gigabyte in all.
constexpr uint64_t most_waiting_threads = uint64_t(multiprocessors) * likely_threads;

int blocks_per_multiprocessor(int threads, size_t dynamic_shared, int resident_threads) {
  if (threads > 1024 || dynamic_shared > most_dynamic_shared) return 0;
  int by_threads = resident_threads / ((threads + 31) / 32 * 32);
  return std::min({most_blocks, by_threads, int(shared_of_multiprocessor / (dynamic_shared + reserved_shared))});
}

// One for each block, kept from launch to launch.
std::vector<std::unique_ptr<Worker>> crew;
std::vector<std::unique_ptr<Checker>> checkers;

void hire(uint64_t count) {
  while (crew.size() < count) {
    crew.push_back(std::make_unique<Worker>(false));
    checkers.push_back(sim_is_checking() ? std::make_unique<Checker>() : nullptr);
    crew.back()->checker = checkers.back().get();
  }
}

// Those that go on; fewer than all where blocks have ended.
struct Round {
  uint64_t gave_turn = 0, at_barrier = 0;
};

Round run_round(Launch& launch, std::vector<Pause>& pauses) {
  Round round;
  for (size_t block = 0; block < pauses.size() && !launch.is_aborted; block++) {
    if (pauses[block] == Pause::gave_turn) pauses[block] = crew[block]->go_on();
    round.gave_turn += pauses[block] == Pause::gave_turn;
    round.at_barrier += pauses[block] == Pause::at_grid_barrier;
  }
  return round;
}

void release_all(std::vector<Pause>& pauses) {
  for (size_t block = 0; block < pauses.size(); block++) crew[block]->release_grid_barrier();
  std::fill(pauses.begin(), pauses.end(), Pause::gave_turn);
}

void report_missing_blocks(const Launch& launch, const std::vector<Pause>& pauses, uint64_t waiting) {
  size_t block = std::find(pauses.begin(), pauses.end(), Pause::at_grid_barrier) - pauses.begin();
  crew[block]->report_grid_deadlock(std::to_string(waiting) + " of " + std::to_string(pauses.size()) +
                                    " blocks wait at a barrier of the whole grid, and all others have ended");
  raise_sticky(cudaErrorLaunchTimeout);
}

void run_rounds(Launch& launch) {
  std::vector<Pause> pauses(launch.grid_blocks(), Pause::gave_turn);
  while (!launch.is_aborted) {
    Round round = run_round(launch, pauses);
    if (launch.is_aborted) return;
    count_round(launch);
    if (round.gave_turn) continue;
    if (!round.at_barrier) return;
    if (round.at_barrier < pauses.size()) return report_missing_blocks(launch, pauses, round.at_barrier);
    release_all(pauses);
  }
}

}  // namespace

bool is_accepted_grid(const Launch& launch) {
  int per_multiprocessor = blocks_per_multiprocessor(launch.threads(), launch.dynamic_shared, most_threads);
  uint64_t fit = uint64_t(per_multiprocessor) * multiprocessors;
  if (launch.grid_blocks() <= fit) return true;
  raise_launch_error(cudaErrorCooperativeLaunchTooLarge,
                     std::to_string(launch.grid_blocks()) + " blocks of a cooperative launch, of which at most " +
                         std::to_string(fit) + " fit on the device at a time",
                     launch.kernel, launch.source);
  return false;
}

void run_together(Launch& launch, const std::vector<KernelArgument>& arguments) {
  if (launch.grid_blocks() * launch.threads() > most_waiting_threads) {
    launch.gap = "a cooperative launch of more than 135168 threads";
    return;
  }
  uint64_t blocks = launch.grid_blocks();
  hire(blocks);
  FaultHandlers handlers;
  SignalStack signal_stack;
  uint3 thread = threadIdx, block = blockIdx;
  if (sim_is_checking())
    for (uint64_t i = 0; i < blocks; i++) checkers[i]->begin_launch(launch, arguments);
  for (uint64_t i = 0; i < blocks; i++) crew[i]->begin(launch, i);
  run_rounds(launch);
  for (uint64_t i = 0; i < blocks; i++) crew[i]->end();
  threadIdx = thread;
  blockIdx = block;
}

// ---- Of one block.

void Worker::wait_at_grid_barrier(const Source& source) {
  if (checker) checker->settle();
  Thread& self = threads_[current->thread];
  self.barrier = source;
  self.state = ThreadState::at_grid_barrier;
  at_grid_++;
  suspend();
}

void Worker::release_grid_barrier() {
  worker = this;
  for (unsigned thread = 0; thread < threads_total_; thread++) {
    if (threads_[thread].state != ThreadState::at_grid_barrier) continue;
    if (exited_) report_early_exit(threads_[thread].barrier);
    make_ready(thread);
  }
  at_grid_ = 0;
  barriers_met_++;
  if (checker) checker->pass_grid_barrier();
}

void Worker::report_grid_deadlock(const std::string& detail) {
  worker = this;
  auto waits = [](const Thread& thread) { return thread.state == ThreadState::at_grid_barrier; };
  const Thread& first = *std::find_if(threads_.begin(), threads_.end(), waits);
  blockIdx = block_index_;
  threadIdx = first.fiber->index;
  report("barrier-deadlock", detail, first.barrier);
}

}  // namespace sim

using namespace sim;

extern "C" {

int sim_blocks_per_multiprocessor(int threads, size_t dynamic_shared) {
  return blocks_per_multiprocessor(threads, dynamic_shared, likely_threads);
}

void sim_grid_sync(const char* file, int line) {
  if (!worker->launch->is_cooperative)
    sim_trap("a barrier of the whole grid in a launch that isn't cooperative", file, line);
  worker->wait_at_grid_barrier({file, line});
}

bool sim_is_cooperative(void) { return worker->launch->is_cooperative; }

void sim_give_turn(void) {
  if (worker && worker->current) worker->yield_now();
}
}
