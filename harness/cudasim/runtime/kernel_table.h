// What the host says of kernels: how much shared memory they may have, and which lie at the addresses that it takes.
#pragma once
#include <cstddef>

namespace sim {

constexpr size_t default_shared = 48 * 1024, most_shared = 227 * 1024;

// Of static and dynamic shared memory together. `address` is null where the launch has none.
size_t shared_limit(const char* kernel, const void* address);

}  // namespace sim
