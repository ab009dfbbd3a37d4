// Two accesses to the same bytes that nothing orders, one of them a write.
#pragma once
#include "order.h"
#include "shadow.h"

namespace sim {

// The thread that makes an access, at the point where it has got to.
struct Actor {
  uint32_t block;     // serial number of the block's run
  uint32_t barriers;  // that its block has met at
  unsigned thread;    // linear index in its block
  uint32_t syncs;     // that its warp has met at
  unsigned changes;   // that it has made atomically since the barrier
  uint32_t site;
  bool is_atomic;
};

struct Conflict {
  enum Kind { none, with_write, with_atomic, with_read } kind = none;
  Stamp earlier{};
  bool names_thread = true;  // false where another thread than the one that `earlier` names was meant
};

class Races {
 public:
  Races(const BlockOrder& blocks, const ThreadOrder& threads) : blocks_(blocks), threads_(threads) {}
  // What blocks before this one have done doesn't matter any more.
  void begin_at(uint32_t first_block) { first_block_ = first_block; }
  bool is_before(const Actor& earlier, const Actor& later) const;
  // `mask`: the bytes of the cell that are read or written.
  Conflict read(Cell& cell, const Actor& actor, unsigned mask) const;
  Conflict write(Cell& cell, const Actor& actor, unsigned mask) const;

 private:
  bool is_live(const Stamp& stamp, unsigned mask) const { return stamp.block >= first_block_ && (stamp.mask & mask); }
  bool is_ordered(const Stamp& earlier, const Actor& actor) const;
  Conflict with_readers(const Stamp& readers, const Actor& actor) const;
  Stamp joined(const Stamp& readers, const Actor& actor, unsigned mask) const;

  const BlockOrder& blocks_;
  const ThreadOrder& threads_;
  uint32_t first_block_ = 1;
};

}  // namespace sim
