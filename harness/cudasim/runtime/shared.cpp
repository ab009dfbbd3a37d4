// Shared memory of a block. It is laid out downwards from a guard page, so that running over the end of the
// dynamic array (or of the first static one) faults.
#include <algorithm>
#include <cstring>
#include <cwchar>

#include "memory.h"
#include "worker.h"

namespace sim {
namespace {
// Between variables, for the checker: an index that is a little too large hits nothing.
constexpr size_t checked_gap = 128;

// NaN in every float format, so that what a kernel forgot to fill shows in its result; but not the poison of device
// memory, which the referee takes for what nobody wrote.
void poison(char* from, char* until) {
  wmemset(reinterpret_cast<wchar_t*>(from), 0x7FFF7FFF, (until - from) / sizeof(wchar_t));
}
}  // namespace

void Worker::poison_shared() { poison(lowest_shared_, shared_ + shared_capacity); }

const SharedVariable* Worker::shared_variable_at(uintptr_t address) const {
  for (auto& variable : variables_)
    if (address - reinterpret_cast<uintptr_t>(variable.address) < variable.nbytes) return &variable;
  return nullptr;
}

const SharedVariable* Worker::shared_variable_before(uintptr_t address) const {
  const SharedVariable* nearest = nullptr;
  for (auto& variable : variables_)
    if (reinterpret_cast<uintptr_t>(variable.address) <= address && (!nearest || nearest->address < variable.address))
      nearest = &variable;
  return nearest;
}

void* Worker::shared_static(const void* key, size_t size, size_t alignment, const char* names) {
  for (auto& variable : variables_)
    if (variable.key == key) return variable.address;
  size_t gap = checker ? checked_gap : 0;
  auto address = reinterpret_cast<uintptr_t>(lowest_shared_) - gap - size;
  auto* placed = reinterpret_cast<char*>(address - address % std::max<size_t>(alignment, 16));
  shared_gaps_ += gap;
  size_t used = shared_ + shared_capacity - placed - shared_gaps_;
  if (placed < shared_ || used > round_up(launch->shared_limit, 128)) {
    raise_launch_error(cudaErrorInvalidValue,
                       "static and dynamic shared memory together take " + std::to_string(used) + " bytes, " +
                           std::to_string(launch->shared_limit) + " are allowed",
                       launch->kernel, launch->source);
    abandon_block();
  }
  poison(placed, lowest_shared_);
  lowest_shared_ = placed;
  variables_.push_back({key, placed, size, names});
  return placed;
}

}  // namespace sim

extern "C" {

void* sim_shared_static(const void* key, size_t size, size_t alignment, const char* names) {
  return sim::worker->shared_static(key, size, alignment, names);
}

void* sim_shared_dynamic(void) { return sim::worker->shared_dynamic(); }

void* sim_shared_window(void) { return reinterpret_cast<void*>(sim::worker->shared_start()); }

void* sim_in_shared(unsigned offset) {
  size_t behind = sim::shared_capacity + sim::shared_guard / 2;
  return reinterpret_cast<void*>(sim::worker->shared_start() + std::min<size_t>(offset, behind));
}

void sim_copy_async(void* to, const void* bytes, unsigned size) {
  sim::AsyncCopy copy{to, size, {}};
  memcpy(copy.bytes, bytes, size);
  sim::worker->copies().issued.push_back(copy);
}

void sim_commit_copies(void) {
  auto& copies = sim::worker->copies();
  copies.groups.push_back(copies.issued.size());
}

unsigned sim_take_copy(int pending, void** to, void* bytes) {
  auto& copies = sim::worker->copies();
  size_t groups = copies.groups.size(), left = size_t(pending);
  size_t due = pending < 0 ? copies.issued.size() : groups > left ? copies.groups[groups - left - 1] : 0;
  if (copies.taken >= due) {
    if (copies.taken == copies.issued.size()) copies = {};
    return 0;
  }
  const sim::AsyncCopy& copy = copies.issued[copies.taken++];
  *to = copy.to;
  memcpy(bytes, copy.bytes, sizeof copy.bytes);
  return copy.size;
}
}
