// __syncthreads() and what goes wrong around it.
#include <algorithm>
#include <map>

#include "checker.h"

namespace sim {

void Worker::wait_at_barrier(int predicate, const Source& source) {
  if (checker) checker->settle();
  vote_.count += predicate != 0;
  vote_.all = vote_.all && predicate;
  vote_.any = vote_.any || predicate;
  Thread& self = threads_[current->thread];
  self.barrier = source;
  self.state = ThreadState::at_barrier;
  if (waiting_++ == 0) first_line_ = source.line;
  lines_differ_ |= source.line != first_line_;
  if (waiting_ + exited_ == threads_total_) release_barrier();
  suspend();
}

void Worker::release_barrier() {
  if (lines_differ_) report_divergence();
  lines_differ_ = false;
  for (unsigned place = 0; place < threads_total_; place++) {
    unsigned thread = in_order(place, threads_total_);
    if (threads_[thread].state != ThreadState::at_barrier) continue;
    if (exited_) report_early_exit(threads_[thread].barrier);
    make_ready(thread);
  }
  waiting_ = 0;
  barriers_met_++;
  if (checker) checker->end_interval();
  last_vote = vote_;
  vote_ = Vote{};
}

// Hardware of sm_70 and newer doesn't wait for threads that have exited, though CUDA's rule is that all threads of a block
// reach a barrier or none (CUDA C++ Programming Guide, synchronization functions).
void Worker::report_early_exit(const Source& barrier) {
  if (early_exit_reported_) return;
  early_exit_reported_ = true;
  auto has_exited = [](const Thread& thread) { return thread.state == ThreadState::exited; };
  auto first = std::find_if(threads_.begin(), threads_.end(), has_exited) - threads_.begin();
  report("barrier-after-exit",
         std::to_string(exited_) + " of the block's " + std::to_string(threads_total_) +
             " threads had exited when the others met at this __syncthreads(), the first of them thread " +
             index_text(first, launch->block),
         barrier);
}

void Worker::report_divergence() {
  const Source* first = nullptr;
  for (auto& thread : threads_) {
    if (thread.state != ThreadState::at_barrier) continue;
    if (!first) first = &thread.barrier;
    if (thread.barrier.line == first->line) continue;
    report("barrier-divergence",
           "threads of one block met at different __syncthreads(): lines " + std::to_string(first->line) + " and " +
               std::to_string(thread.barrier.line),
           thread.barrier);
    return;
  }
}

void Worker::report_deadlock() {
  std::map<std::string, int> places;
  Source source = launch->source;
  int at_barrier = 0, in_collective = 0;
  for (auto& thread : threads_) {
    in_collective += thread.state == ThreadState::in_collective;
    if (thread.state == ThreadState::at_grid_barrier)
      places["a barrier of the whole grid in line " + std::to_string(thread.barrier.line)]++;
    bool is_named = thread.object >= std::begin(named_) && thread.object < std::end(named_);
    const char* what = thread.state == ThreadState::at_barrier  ? "__syncthreads()"
                       : thread.state != ThreadState::at_object ? nullptr
                       : is_named                               ? "a named barrier"
                                                                : "an mbarrier";
    if (!what) continue;
    at_barrier++;
    source = thread.barrier;
    places[std::string(what) + " in line " + std::to_string(source.line)]++;
  }
  for (auto& warp : warps_)
    for (auto* met : warp.pending) {
      char mask[32];
      snprintf(mask, sizeof mask, "0x%08x", met->mask);
      places[std::string(met->what) + " with mask " + mask + " in line " + std::to_string(met->source.line)]++;
      source = met->source;
    }
  std::string detail = "no thread of the block can go on: " + std::to_string(at_barrier) + " wait at a barrier, " +
                       std::to_string(in_collective) + " in a warp collective, " + std::to_string(exited_) + " exited";
  for (auto& [place, count] : places) detail += "; " + place + " (" + std::to_string(count) + ")";
  report("barrier-deadlock", detail, source);
}

}  // namespace sim

using sim::worker;

extern "C" {

void sim_syncthreads(const char* file, int line) { worker->wait_at_barrier(1, {file, line}); }

int sim_syncthreads_vote(sim_vote vote, int predicate, const char* file, int line) {
  worker->wait_at_barrier(predicate, {file, line});
  const sim::Vote& result = worker->last_vote;
  return vote == sim_vote_count ? result.count : vote == sim_vote_and ? result.all : result.any;
}

unsigned sim_linear_thread(void) { return worker->current->thread; }

// Instrumented atomics yield by themselves, once the checker knows of them.
void sim_before_atomic(void) {
  if (!worker || !worker->current) return;
  if (!worker->launch->has_atomics) worker->launch->has_atomics = true;
  if (!worker->checker) worker->yield();
}
}
