// torch's names for atomic addition, and the types that it adds to CUDA's.
#pragma once
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#define SIM_GPU_ATOMIC(name, T, expression)                                                                  \
  static inline T name(T* address, T value) {                                                                \
    return sim::read_modify_write(address, [value](T old) -> T { return static_cast<T>(expression); });      \
  }
#define SIM_GPU_ATOMICS(T)                                         \
  SIM_GPU_ATOMIC(gpuAtomicAdd, T, old + value)                     \
  SIM_GPU_ATOMIC(gpuAtomicMul, T, old* value)                      \
  SIM_GPU_ATOMIC(gpuAtomicMax, T, old < value ? value : old)       \
  SIM_GPU_ATOMIC(gpuAtomicMin, T, value < old ? value : old)
SIM_GPU_ATOMICS(uint8_t)
SIM_GPU_ATOMICS(int8_t)
SIM_GPU_ATOMICS(int16_t)
SIM_GPU_ATOMICS(int32_t)
SIM_GPU_ATOMICS(int64_t)
SIM_GPU_ATOMICS(float)
SIM_GPU_ATOMICS(double)
SIM_GPU_ATOMICS(at::Half)
SIM_GPU_ATOMICS(at::BFloat16)
SIM_GPU_ATOMIC(gpuAtomicAdd, bool, old || value)
#undef SIM_GPU_ATOMICS
#undef SIM_GPU_ATOMIC

template <class T>
static inline void gpuAtomicAddNoReturn(T* address, T value) {
  gpuAtomicAdd(address, value);
}
