// What is known before the first line of a translated .cu file, besides torch's header. Precompiled: what depends on
// macros that a solution may set or unset, as 16-bit numbers do, is in after_prelude.h.
#pragma once
#include <c10/util/BFloat16.h>
#include <c10/util/Half.h>
#include <cassert>
#include <cuda_runtime.h>
#include <immintrin.h>

// torch declares it for nvcc alone.
namespace at {
template <typename T>
struct RestrictPtrTraits {
  typedef T* __restrict__ PtrType;
};
}  // namespace at

// c10/macros/Macros.h, too, has these for nvcc.
#define CUDA_KERNEL_ASSERT(condition) \
  if (!(condition)) { \
    sim_trap("assertion failed: " #condition, __FILE__, __LINE__); \
  }

#if !defined(C10_LAUNCH_BOUNDS_1)
constexpr uint32_t CUDA_MAX_THREADS_PER_SM = 2048;
constexpr uint32_t CUDA_MAX_THREADS_PER_BLOCK = 1024;
constexpr uint32_t CUDA_THREADS_PER_BLOCK_FALLBACK = 256;
#define C10_MAX_THREADS_PER_BLOCK(threads) \
  ((threads) <= CUDA_MAX_THREADS_PER_BLOCK ? (threads) : CUDA_THREADS_PER_BLOCK_FALLBACK)
#define C10_MIN_BLOCKS_PER_SM(threads, blocks) \
  ((threads) * (blocks) <= CUDA_MAX_THREADS_PER_SM ? (blocks) : (CUDA_MAX_THREADS_PER_SM + (threads)-1) / (threads))
#define C10_LAUNCH_BOUNDS_0 __launch_bounds__(256, 4)
#define C10_LAUNCH_BOUNDS_1(threads) __launch_bounds__(threads)
#define C10_LAUNCH_BOUNDS_2(threads, blocks) __launch_bounds__(threads, blocks)
#endif
