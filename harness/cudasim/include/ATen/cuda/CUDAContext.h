// torch's view of the device's properties.
#pragma once
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <cublasLt.h>

#define TORCH_CUDABLAS_CHECK(call) TORCH_CHECK((call) == CUBLAS_STATUS_SUCCESS, "CUDA error: ", #call)

namespace at::cuda {

inline cudaDeviceProp* getDeviceProperties(c10::DeviceIndex) {
  static cudaDeviceProp properties = [] {
    cudaDeviceProp queried;
    cudaGetDeviceProperties(&queried, 0);
    return queried;
  }();
  return &properties;
}
inline cudaDeviceProp* getCurrentDeviceProperties() { return getDeviceProperties(0); }
inline int warp_size() { return 32; }
inline bool canDeviceAccessPeer(c10::DeviceIndex, c10::DeviceIndex) { return false; }
inline bool is_available() { return true; }
inline cublasHandle_t getCurrentCUDABlasHandle() {
  static cublasContext context = {};
  return &context;
}
inline cublasLtHandle_t getCurrentCUDABlasLtHandle() {
  static cublasLtContext context = {};
  return &context;
}

}  // namespace at::cuda
