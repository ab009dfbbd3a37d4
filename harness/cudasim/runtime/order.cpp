#include "order.h"

#include <algorithm>

namespace sim {
namespace {
constexpr size_t most_intervals = 32;
}

void BlockSet::add(uint32_t first, uint32_t last) {
  auto starts_later = [](uint32_t value, const Interval& interval) { return value < interval.first; };
  auto next = std::upper_bound(intervals_.begin(), intervals_.end(), first, starts_later);
  if (next != intervals_.begin() && std::prev(next)->last + 1 >= first) --next;
  auto end = next;
  while (end != intervals_.end() && end->first <= last + 1) {
    first = std::min(first, end->first);
    last = std::max(last, end->last);
    ++end;
  }
  next = intervals_.erase(next, end);
  intervals_.insert(next, {first, last});
  if (intervals_.size() > most_intervals) intervals_ = {{intervals_.front().first, intervals_.back().last}};
}

void BlockSet::add(const BlockSet& other) {
  for (auto& interval : other.intervals_) add(interval.first, interval.last);
}

bool BlockSet::has(uint32_t block) const {
  return std::any_of(intervals_.begin(), intervals_.end(),
                     [block](const Interval& interval) { return interval.first <= block && block <= interval.last; });
}

void BlockOrder::begin_launch() { released_.clear(); }

void BlockOrder::begin_block(uint32_t block) {
  block_ = block;
  acquired_.clear();
}

void BlockOrder::acquire(uintptr_t address) {
  auto found = released_.find(address);
  if (found != released_.end()) acquired_.add(found->second);
}

void BlockOrder::release(uintptr_t address) {
  BlockSet& released = released_[address];
  released.add(acquired_);
  released.add(block_, block_);
}

void ThreadOrder::begin_block(unsigned threads) {
  threads_.resize(threads);
  warps_.resize((threads + 31) / 32);
  objects_.clear();
  interval_++;
}

ThreadOrder::Clock& ThreadOrder::current(Clock& clock) {
  if (is_current(clock) && clock.times.size() == threads_.size()) return clock;
  clock.interval = interval_;
  clock.times.assign(threads_.size(), 0);
  clock.syncs.assign(warps_.size(), 0);
  return clock;
}

void ThreadOrder::join(Clock& into, const Clock& from) {
  if (!is_current(from)) return;
  current(into);
  for (size_t i = 0; i < into.times.size(); i++) into.times[i] = std::max(into.times[i], from.times[i]);
  for (size_t i = 0; i < into.syncs.size(); i++) into.syncs[i] = std::max(into.syncs[i], from.syncs[i]);
}

ThreadOrder::Acquired& ThreadOrder::of_warp(unsigned thread, uint32_t syncs) {
  Acquired& warp = warps_[thread / 32];
  if (warp.syncs == syncs) return warp;
  join(warp.before, warp.since);
  warp.since = {};
  warp.syncs = syncs;
  return warp;
}

void ThreadOrder::acquire(uintptr_t object, unsigned thread, uint32_t syncs) {
  auto found = objects_.find(object);
  if (found == objects_.end() || !is_current(found->second)) return;
  join(threads_[thread], found->second);
  join(of_warp(thread, syncs).since, found->second);
}

void ThreadOrder::release(uintptr_t object, unsigned thread, uint32_t syncs) {
  Clock& own = current(threads_[thread]);
  join(own, of_warp(thread, syncs).before);
  if (own.times[thread] < UINT8_MAX) own.times[thread]++;
  own.syncs[thread / 32] = syncs;
  join(objects_[object], own);
}

bool ThreadOrder::is_before(const Moment& earlier, const Clock& clock) const {
  return is_current(clock) &&
         (earlier.changes < clock.times[earlier.thread] || earlier.syncs < clock.syncs[earlier.thread / 32]);
}

bool ThreadOrder::is_before(const Moment& earlier, unsigned thread, uint32_t syncs) const {
  const Acquired& warp = warps_[thread / 32];
  return is_before(earlier, threads_[thread]) || is_before(earlier, warp.before) ||
         (warp.syncs != syncs && is_before(earlier, warp.since));
}

bool ThreadOrder::has_acquired(unsigned thread) const {
  const Acquired& warp = warps_[thread / 32];
  return is_current(warp.before) || is_current(warp.since);
}

}  // namespace sim
