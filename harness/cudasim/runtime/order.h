// What is ordered by atomics: blocks of a launch, and threads of a block between two barriers.
#pragma once
#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace sim {

// Numbers of blocks, as intervals; above a bound the whole from the first to the last, so that it stays small.
class BlockSet {
 public:
  void add(uint32_t first, uint32_t last);
  void add(const BlockSet& other);
  bool has(uint32_t block) const;
  bool empty() const { return intervals_.empty(); }
  void clear() { intervals_.clear(); }

 private:
  struct Interval {
    uint32_t first, last;
  };
  std::vector<Interval> intervals_;
};

// An atomic acquires from every block that used the same address before, and all that those had acquired. That is more
// than CUDA promises without fences: it may miss a race, and invents none.
class BlockOrder {
 public:
  void begin_launch();
  void begin_block(uint32_t block);
  void acquire(uintptr_t address);
  void release(uintptr_t address);
  bool is_before(uint32_t block) const { return acquired_.has(block); }
  bool has_acquired() const { return !acquired_.empty(); }

 private:
  uint32_t block_ = 0;
  BlockSet acquired_;
  static inline std::unordered_map<uintptr_t, BlockSet> released_;  // by any block, whoever follows it
};

// A thread of a block, at the point where it has got to: how often it has released, and its warp has met.
struct Moment {
  unsigned thread, changes;
  uint32_t syncs;
};

// Threads of a block between two barriers: vector clocks. Who releases does so for its warp as well, as far as that has
// met before, and what it has acquired its warp has once it has met. What a thread does after its release stays unordered.
class ThreadOrder {
 public:
  void begin_block(unsigned threads);
  void begin_interval() { interval_++; }
  void acquire(uintptr_t object, unsigned thread, uint32_t syncs);
  void release(uintptr_t object, unsigned thread, uint32_t syncs);
  // How often a thread has released; the count stays at the last that it can tell.
  unsigned changes(unsigned thread) const { return is_current(threads_[thread]) ? threads_[thread].times[thread] : 0; }
  bool is_before(const Moment& earlier, unsigned thread, uint32_t syncs) const;
  bool has_acquired(unsigned thread) const;

 private:
  struct Clock {
    uint64_t interval = 0;
    std::vector<uint8_t> times;   // by thread
    std::vector<uint32_t> syncs;  // by warp
  };
  // What a warp's lanes have acquired: those of before it met last, and the others since.
  struct Acquired {
    Clock before, since;
    uint32_t syncs = 0;
  };
  bool is_current(const Clock& clock) const { return clock.interval == interval_; }
  bool is_before(const Moment& earlier, const Clock& clock) const;
  Clock& current(Clock& clock);
  void join(Clock& into, const Clock& from);
  Acquired& of_warp(unsigned thread, uint32_t syncs);

  uint64_t interval_ = 1;
  std::vector<Clock> threads_;
  std::vector<Acquired> warps_;
  std::unordered_map<uintptr_t, Clock> objects_;
};

}  // namespace sim
