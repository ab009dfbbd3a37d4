#include "races.h"

#include <algorithm>

namespace sim {
namespace {

constexpr uint32_t barriers_kept = (1u << 20) - 1, syncs_kept = (1u << 18) - 1;
constexpr unsigned warp_shift = 5, changes_kept = 255;

Stamp stamp_of(const Actor& actor, unsigned mask) {
  Stamp stamp{};
  stamp.block = actor.block;
  stamp.site = actor.site;
  stamp.barriers = actor.barriers & barriers_kept;
  stamp.changes = std::min(actor.changes, changes_kept);
  stamp.mask = mask;
  stamp.thread = actor.thread;
  stamp.is_atomic = actor.is_atomic;
  stamp.syncs = actor.syncs & syncs_kept;
  return stamp;
}

Moment moment_of(const Stamp& stamp) { return {stamp.thread, stamp.changes, stamp.syncs}; }

bool same_interval(const Stamp& stamp, const Actor& actor) {
  return stamp.block == actor.block && stamp.barriers == (actor.barriers & barriers_kept);
}

bool same_warp(const Stamp& stamp, const Actor& actor) {
  return unsigned(stamp.thread) >> warp_shift == actor.thread >> warp_shift;
}

bool same_sync(const Stamp& stamp, const Actor& actor) { return stamp.syncs == (actor.syncs & syncs_kept); }

}  // namespace

bool Races::is_ordered(const Stamp& earlier, const Actor& actor) const {
  if (earlier.block != actor.block) return blocks_.is_before(earlier.block);
  if (!same_interval(earlier, actor) || earlier.thread == actor.thread) return true;
  // A thread that has changed more than can be counted may have done it before.
  if (earlier.changes == changes_kept || threads_.is_before(moment_of(earlier), actor.thread, actor.syncs)) return true;
  return same_warp(earlier, actor) && !same_sync(earlier, actor);
}

bool Races::is_before(const Actor& earlier, const Actor& later) const {
  return is_ordered(stamp_of(earlier, 0), later);
}

Conflict Races::read(Cell& cell, const Actor& actor, unsigned mask) const {
  Conflict conflict;
  const Stamp& write = cell.write;
  if (is_live(write, mask) && !(write.is_atomic && actor.is_atomic) && !is_ordered(write, actor))
    conflict = {write.is_atomic ? Conflict::with_atomic : Conflict::with_write, write};
  Stamp& readers = cell.read;
  bool is_known = is_live(readers, mask) && !readers.is_atomic;
  if (actor.is_atomic) {
    // Whoever reads and then exchanges atomically finds out whether what it read still holds.
    if (is_known && readers.block == actor.block && readers.thread == actor.thread) readers.is_atomic = 1;
  } else {
    readers = is_known ? joined(readers, actor, mask) : stamp_of(actor, mask);
  }
  return conflict;
}

Conflict Races::write(Cell& cell, const Actor& actor, unsigned mask) const {
  Conflict conflict;
  if (is_live(cell.read, mask) && !cell.read.is_atomic) conflict = with_readers(cell.read, actor);
  const Stamp& write = cell.write;
  if (is_live(write, mask) && !(write.is_atomic && actor.is_atomic) && !is_ordered(write, actor))
    conflict = {write.is_atomic ? Conflict::with_atomic : Conflict::with_write, write};
  cell.write = stamp_of(actor, mask);
  return conflict;
}

Conflict Races::with_readers(const Stamp& readers, const Actor& actor) const {
  if (!is_ordered(readers, actor)) return {Conflict::with_read, readers};
  if (readers.block != actor.block) return {};
  // Which others is forgotten, so whoever has acquired from any may have acquired from them.
  if (readers.by_other_blocks && !blocks_.has_acquired()) return {Conflict::with_read, readers, false};
  if (!same_interval(readers, actor) || threads_.has_acquired(actor.thread)) return {};
  bool is_of_warp = readers.by_others_of_warp && same_warp(readers, actor) && same_sync(readers, actor);
  return {readers.by_other_warps || is_of_warp ? Conflict::with_read : Conflict::none, readers, false};
}

// The stamp keeps one reader, and which kinds of others there were for the bytes that all of them read.
Stamp Races::joined(const Stamp& readers, const Actor& actor, unsigned mask) const {
  Stamp now = stamp_of(actor, mask);
  if (readers.block != actor.block) {
    now.by_other_blocks = 1;
  } else {
    now.by_other_blocks = readers.by_other_blocks;
    bool is_before = threads_.is_before(moment_of(readers), actor.thread, actor.syncs);
    if (same_interval(readers, actor) && !is_before) {
      now.by_other_warps = readers.by_other_warps || !same_warp(readers, actor);
      bool is_other = readers.thread != actor.thread || readers.by_others_of_warp;
      now.by_others_of_warp = same_warp(readers, actor) && same_sync(readers, actor) && is_other;
    }
  }
  bool has_others = now.by_other_blocks || now.by_other_warps || now.by_others_of_warp;
  if (has_others) now.mask = mask & readers.mask;
  else if (readers.thread == actor.thread && same_interval(readers, actor) && same_sync(readers, actor))
    now.mask = mask | readers.mask;
  return now;
}

}  // namespace sim
