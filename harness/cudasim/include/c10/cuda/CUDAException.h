// torch's checks of CUDA calls.
#pragma once
#include <c10/util/Exception.h>
#include <cuda_runtime.h>

namespace c10::cuda {

inline void check_simulated(cudaError_t error, const char* file, int line) {
  if (error == cudaSuccess) return;
  cudaGetLastError();
  TORCH_CHECK(false, "CUDA error: ", cudaGetErrorString(error), " (", file, ":", line, ") ", sim_last_launch_problem());
}

}  // namespace c10::cuda

#define C10_CUDA_CHECK(call) ::c10::cuda::check_simulated((call), __FILE__, __LINE__)
#define C10_CUDA_CHECK_WARN(call) static_cast<void>(call)
#define C10_CUDA_IGNORE_ERROR(call) static_cast<void>(call)
#define C10_CUDA_KERNEL_LAUNCH_CHECK() C10_CUDA_CHECK(cudaGetLastError())
#define AT_CUDA_CHECK(call) C10_CUDA_CHECK(call)
#define CUDA_KERNEL_ASSERT(condition) \
  if (!(condition)) { \
    sim_trap("assertion failed: " #condition, __FILE__, __LINE__); \
  }

// torch's own (c10/macros/Macros.h) are for nvcc alone.
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
