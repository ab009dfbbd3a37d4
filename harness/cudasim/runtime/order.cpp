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
  addresses_.clear();
  interval_++;
}

ThreadOrder::Clock& ThreadOrder::current(Clock& clock) {
  if (is_current(clock) && clock.times.size() == threads_.size()) return clock;
  clock.interval = interval_;
  clock.has_acquired = false;
  clock.times.assign(threads_.size(), 0);
  return clock;
}

void ThreadOrder::join(Clock& into, const Clock& from) {
  for (size_t i = 0; i < into.times.size(); i++) into.times[i] = std::max(into.times[i], from.times[i]);
}

void ThreadOrder::acquire(uintptr_t address, unsigned thread) {
  auto found = addresses_.find(address);
  if (found == addresses_.end() || !is_current(found->second)) return;
  Clock& own = current(threads_[thread]);
  join(own, found->second);
  own.has_acquired = true;
}

void ThreadOrder::release(uintptr_t address, unsigned thread) {
  Clock& own = current(threads_[thread]);
  if (own.times[thread] < UINT8_MAX) own.times[thread]++;
  join(current(addresses_[address]), own);
}

}  // namespace sim
