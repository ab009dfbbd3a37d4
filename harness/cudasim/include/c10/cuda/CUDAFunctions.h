// torch's device functions for a machine with one device.
#pragma once
#include <c10/core/Device.h>
#include <c10/cuda/CUDAException.h>

namespace c10::cuda {
inline c10::DeviceIndex current_device() { return 0; }
inline c10::DeviceIndex device_count() { return 1; }
inline void set_device(c10::DeviceIndex) {}
inline void device_synchronize() { C10_CUDA_CHECK(cudaDeviceSynchronize()); }
}  // namespace c10::cuda

namespace at::cuda {
using c10::cuda::current_device;
using c10::cuda::device_count;
}  // namespace at::cuda
