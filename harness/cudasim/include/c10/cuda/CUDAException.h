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
