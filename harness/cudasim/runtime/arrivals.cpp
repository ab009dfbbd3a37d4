// Barriers that count arrivals: mbarriers (PTX ISA, "mbarrier") and a block's named ones ("bar, barrier").
#include <cstring>

#include "checker.h"
#include "memory.h"

namespace sim {
namespace {
// Of those who look at an mbarrier again and again: more than a thread does that goes on to something else.
constexpr unsigned most_looks_in_vain = 1000;
}  // namespace

sim_woken Worker::wait_for(const void* object, const Source& source) {
  Thread& self = threads_[current->thread];
  self.barrier = source;
  self.state = ThreadState::at_object;
  self.object = object;
  suspend();
  return self.woken;
}

void Worker::wake(const void* object, sim_woken why) {
  for (unsigned thread = 0; thread < threads_total_; thread++) {
    if (threads_[thread].state != ThreadState::at_object || threads_[thread].object != object) continue;
    threads_[thread].woken = why;
    make_ready(thread);
  }
}

// Where no thread can go on, those that wait for an mbarrier may look elsewhere; so many times, or until others were
// ready again.
bool Worker::release_in_vain() {
  looks_in_vain_ = made_ready_ == woken_in_vain_ ? looks_in_vain_ + 1 : 0;
  if (looks_in_vain_ > most_looks_in_vain) return false;
  uint64_t before = made_ready_;
  for (auto& [barrier, state] : mbarriers_) wake(barrier, sim_woken_in_vain);
  woken_in_vain_ = made_ready_;
  return made_ready_ != before;
}

void Worker::wait_at_named_barrier(unsigned number, unsigned count, bool waits, const Source& source) {
  unsigned whole = round_up(threads_total_, warp_size);  // a warp counts as a whole one
  bool is_of_all = count == 0 || count == threads_total_ || count == whole;
  if (number == 0 && waits && is_of_all) return wait_at_barrier(1, source);
  if (number > 15 || count % warp_size) sim_trap("a barrier of no such number, or not of whole warps", source.file, source.line);
  if (checker) checker->settle();
  unsigned& arrived = named_[number];
  if (checker) checker->release(&arrived);
  arrived += current->thread + 1 == threads_total_ ? 1 + whole - threads_total_ : 1;
  if (arrived >= (is_of_all ? whole : count)) {
    arrived = 0;
    wake(&arrived, sim_woken_by_phase);
  } else if (waits) {
    wait_for(&arrived, source);
  }
  if (checker && waits) checker->acquire(&arrived);
}

void Worker::begin_mbarrier(void* barrier, unsigned count, const Source& source) {
  if (reinterpret_cast<uintptr_t>(barrier) % 8) sim_misaligned("an mbarrier isn't aligned to 8 bytes", source.file, source.line);
  if (!guards_shared(barrier)) sim_trap("an mbarrier that isn't in shared memory", source.file, source.line);
  mbarriers_.erase(barrier);
  if (!count) return;
  Mbarrier& begun = mbarriers_[barrier];
  begun.expected = begun.pending = count;
  if (checker) checker->begin_mbarrier(barrier);
}

Mbarrier& Worker::mbarrier(const void* barrier, const Source& source) {
  auto found = mbarriers_.find(barrier);
  if (found == mbarriers_.end()) sim_trap("an mbarrier that nobody has initialised", source.file, source.line);
  if (checker) checker->use_mbarrier(barrier, source);
  return found->second;
}

unsigned Worker::arrive(void* barrier, unsigned count, int nbytes, bool drops_out, const Source& source) {
  Mbarrier& state = mbarrier(barrier, source);
  if (checker) {
    checker->settle();
    checker->release(barrier);
  }
  unsigned parity = state.parity;
  if (count > state.pending) sim_trap("more arrivals at an mbarrier than it was initialised for", source.file, source.line);
  state.pending -= count;
  state.expected -= drops_out ? count : 0;
  state.nbytes += nbytes;
  if (!state.pending && !state.nbytes) {
    state.parity ^= 1;
    state.pending = state.expected;
    wake(barrier, sim_woken_by_phase);
  }
  return parity;
}

sim_woken Worker::wait_at_mbarrier(const void* barrier, unsigned parity, const Source& source) {
  if (checker) checker->settle();
  bool has_passed = mbarrier(barrier, source).parity != (parity & 1);
  sim_woken why = has_passed ? sim_woken_by_phase : wait_for(barrier, source);
  if (checker && why == sim_woken_by_phase) checker->acquire(barrier);
  return why;
}

}  // namespace sim

using sim::worker;

extern "C" {

void sim_named_barrier(unsigned number, unsigned count, bool waits, const char* file, int line) {
  worker->wait_at_named_barrier(number, count, waits, {file, line});
}

void sim_mbarrier_init(void* barrier, unsigned count, const char* file, int line) {
  worker->begin_mbarrier(barrier, count, {file, line});
}

unsigned sim_mbarrier_arrive(void* barrier, unsigned count, int nbytes, bool drops_out, const char* file, int line) {
  return worker->arrive(barrier, count, nbytes, drops_out, {file, line});
}

sim_woken sim_mbarrier_wait(void* barrier, unsigned parity, const char* file, int line) {
  return worker->wait_at_mbarrier(barrier, parity, {file, line});
}

void* sim_copy_bulk(void* to, unsigned nbytes, void* barrier, const char* file, int line) {
  sim::Mbarrier& state = worker->mbarrier(barrier, {file, line});
  if (worker->checker) worker->checker->release(barrier);
  state.copies.push_back({to, std::vector<sim::BulkCopy::Unit>(nbytes / sizeof(sim::BulkCopy::Unit))});
  worker->wake(barrier, sim_woken_by_copy);
  return state.copies.back().units.data();
}

unsigned sim_take_bulk(void* barrier, void** to, const void** bytes, const char* file, int line) {
  sim::Mbarrier& state = worker->mbarrier(barrier, {file, line});
  if (state.copies.empty()) return 0;
  if (worker->checker) worker->checker->acquire(barrier);
  state.taken = std::move(state.copies.front());
  state.copies.pop_front();
  *to = state.taken.to;
  *bytes = state.taken.units.data();
  return unsigned(state.taken.units.size() * sizeof(sim::BulkCopy::Unit));
}

void sim_copy_unseen(void* to, const void* from, size_t nbytes) { memcpy(to, from, nbytes); }
}
