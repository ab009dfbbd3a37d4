// Shuffles, ballots and matches: lanes of a mask leave a value each and read the others'.
#include <algorithm>
#include <cstdio>
#include <cstring>

#include "checker.h"

namespace sim {

Collective* Worker::meet(unsigned mask, const void* mine, unsigned size, const char* what, const Source& source) {
  if (checker) checker->settle();
  Warp& own = warp();
  unsigned self = 1u << lane();
  if (!(mask & self)) {
    char detail[96];
    snprintf(detail, sizeof detail, "%s: lane %u is not in its own mask 0x%08x", what, lane(), mask);
    report("warp-mask", detail, source);
    mask |= self;
  }
  auto joins = [&](Collective* met) { return met->mask == mask && met->size == size && !(met->arrived & self); };
  auto found = std::find_if(own.pending.begin(), own.pending.end(), joins);
  Collective* met;
  if (found != own.pending.end()) {
    met = *found;
  } else {
    if (free_collectives_.empty()) {
      collectives_.push_back(std::make_unique<Collective>());
      free_collectives_.push_back(collectives_.back().get());
    }
    met = free_collectives_.back();
    free_collectives_.pop_back();
    met->mask = mask;
    met->size = size;
    met->arrived = met->still_reading = 0;
    met->what = what;
    met->source = source;
    own.pending.push_back(met);
  }
  memcpy(met->values[lane()], mine, size);
  met->arrived |= self;
  threads_[current->thread].state = ThreadState::in_collective;
  if (own.is_complete(*met)) complete(own, met, current->thread / warp_size * warp_size);
  suspend();
  return met;
}

void Worker::complete(Warp& met_in, Collective* met, unsigned first_thread) {
  met->still_reading = met->arrived;
  met_in.syncs++;
  met_in.pending.erase(std::find(met_in.pending.begin(), met_in.pending.end(), met));
  for (unsigned place = 0; place < warp_size; place++) {
    unsigned lane = in_order(place, warp_size);
    if (met->arrived >> lane & 1) make_ready(first_thread + lane);
  }
}

void Worker::leave(Collective* met) {
  met->still_reading &= ~(1u << lane());
  if (!met->still_reading) free_collectives_.push_back(met);
}

// Which lanes execute together is the hardware's choice; here it is all that can come to the same line: a lane waits
// there until no thread of the block can go on.
unsigned Worker::converge(const Source& source) {
  Thread& self = threads_[current->thread];
  self.barrier = source;
  self.state = ThreadState::converging;
  converging_++;
  suspend();
  return self.converged;
}

bool Worker::release_converged() {
  if (!converging_) return false;
  unsigned first = 0;
  while (threads_[first].state != ThreadState::converging) first++;
  const Source place = threads_[first].barrier;
  unsigned start = first / warp_size * warp_size, end = std::min(start + warp_size, threads_total_);
  auto is_here = [&](const Thread& thread) {
    return thread.state == ThreadState::converging && thread.barrier.line == place.line;
  };
  unsigned lanes = 0;
  for (unsigned thread = start; thread < end; thread++) lanes |= unsigned(is_here(threads_[thread])) << (thread - start);
  for (unsigned thread = start; thread < end; thread++) {
    if (!(lanes >> (thread - start) & 1)) continue;
    threads_[thread].converged = lanes;
    converging_--;
    make_ready(thread);
  }
  return true;
}

}  // namespace sim

using namespace sim;

namespace {

template <class Predicate>
unsigned lanes_where(const Collective* met, Predicate holds) {
  unsigned lanes = 0;
  for (unsigned lane = 0; lane < warp_size; lane++)
    if ((met->arrived >> lane & 1) && holds(met->values[lane])) lanes |= 1u << lane;
  return lanes;
}

}  // namespace

extern "C" {

void sim_warp_exchange(unsigned mask, const void* mine, void* out, int source, unsigned size, const char* what,
                       const char* file, int line) {
  Collective* met = worker->meet(mask, mine, size, what, {file, line});
  if (source < 0) {
    memcpy(out, mine, size);
  } else if (met->arrived >> source & 1) {
    memcpy(out, met->values[source], size);
  } else {
    char detail[96];
    snprintf(detail, sizeof detail, "%s reads lane %d, which takes no part (mask 0x%08x)", what, source, mask);
    report("warp-inactive-lane", detail, {file, line});
    memset(out, 0xFF, size);
  }
  worker->leave(met);
}

unsigned sim_warp_ballot(unsigned mask, int predicate, const char* what, const char* file, int line) {
  char is_set = predicate != 0;
  Collective* met = worker->meet(mask, &is_set, sizeof is_set, what, {file, line});
  unsigned lanes = lanes_where(met, [](const char* value) { return *value != 0; });
  worker->leave(met);
  return lanes;
}

unsigned sim_warp_match(unsigned mask, const void* mine, unsigned size, const char* file, int line) {
  Collective* met = worker->meet(mask, mine, size, "__match_any_sync", {file, line});
  unsigned lanes = lanes_where(met, [&](const char* value) { return memcmp(value, mine, size) == 0; });
  worker->leave(met);
  return lanes;
}

unsigned sim_warp_collect(unsigned mask, const void* mine, void* values, unsigned size, const char* what,
                          const char* file, int line) {
  Collective* met = worker->meet(mask, mine, size, what, {file, line});
  for (unsigned lane = 0; lane < warp_size; lane++)
    memcpy(static_cast<char*>(values) + lane * size, met->values[lane], size);
  unsigned arrived = met->arrived;
  worker->leave(met);
  return arrived;
}

unsigned sim_active_mask(const char* file, int line) { return worker->converge({file, line}); }
}
