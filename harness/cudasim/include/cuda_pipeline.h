// The primitives of asynchronous copies, which are cp.async by functions. C++'s pipelines are refused where they are used.
#pragma once
#include "sim/ptx.h"

#if defined(HARNESS_SIM_DEVICE)
// The last `zeros` of `size` bytes are zero.
static inline void __pipeline_memcpy_async(void* __restrict__ to, const void* __restrict__ from, size_t size,
                                           size_t zeros = 0, SIM_CALLER) {
  sim::ptx_copy_async(static_cast<char*>(to), static_cast<const char*>(from), unsigned(size), unsigned(size - zeros), 4,
                      file, line);
}
static inline void __pipeline_commit() { sim::ptx_commit_copies(); }
static inline void __pipeline_wait_prior(size_t pending) { sim::ptx_wait_for_copies(int(pending)); }
#endif
