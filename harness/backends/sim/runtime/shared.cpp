// Shared memory of a block. It is laid out downwards from a guard page, so that running over the end of the
// dynamic array (or of the first static one) faults.
#include <algorithm>
#include <cstring>

#include "memory.h"
#include "worker.h"

namespace sim {

// NaN in each block, so that what a kernel forgot to fill shows in its result.
void Worker::poison_shared() { memset(lowest_shared_, 0xFF, shared_ + shared_capacity - lowest_shared_); }

bool Worker::guards_shared(const void* address) const {
  return address >= shared_ - shared_guard && address < shared_ + shared_capacity + shared_guard;
}

void* Worker::shared_static(const void* key, size_t size, size_t alignment) {
  for (auto& variable : statics_)
    if (variable.key == key) return variable.address;
  auto address = reinterpret_cast<uintptr_t>(lowest_shared_) - size;
  auto* placed = reinterpret_cast<char*>(address - address % std::max<size_t>(alignment, 16));
  size_t used = shared_ + shared_capacity - placed;
  if (placed < shared_ || used > round_up(launch->shared_limit, 128)) {
    raise_launch_error(cudaErrorInvalidValue,
                       "static and dynamic shared memory together take " + std::to_string(used) + " bytes, " +
                           std::to_string(launch->shared_limit) + " are allowed",
                       launch->kernel, launch->source);
    abandon_block();
  }
  memset(placed, 0xFF, lowest_shared_ - placed);
  lowest_shared_ = placed;
  statics_.push_back({key, placed});
  return placed;
}

}  // namespace sim

extern "C" {

void* sim_shared_static(const void* key, size_t size, size_t alignment) {
  return sim::worker->shared_static(key, size, alignment);
}

void* sim_shared_dynamic(void) { return sim::worker->shared_dynamic(); }
}
