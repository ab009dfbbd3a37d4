// torch's names for atomic addition, and the types that it adds to CUDA's.
#pragma once
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#define SIM_GPU_ATOMIC(name, T, expression)                                                                  \
  static inline T name(T* address, T value) {                                                                \
    return sim::read_modify_write(address, [value](T old) -> T { return static_cast<T>(expression); });      \
  }
// Compared as `Number`: at::Half becomes a float or a __half by itself, and with -U__CUDA_NO_HALF_OPERATORS__ both can
// be compared.
#define SIM_GPU_ATOMICS(T, Number)                                                 \
  SIM_GPU_ATOMIC(gpuAtomicAdd, T, old + value)                                     \
  SIM_GPU_ATOMIC(gpuAtomicMul, T, old* value)                                      \
  SIM_GPU_ATOMIC(gpuAtomicMax, T, Number(old) < Number(value) ? value : old)       \
  SIM_GPU_ATOMIC(gpuAtomicMin, T, Number(value) < Number(old) ? value : old)
SIM_GPU_ATOMICS(uint8_t, uint8_t)
SIM_GPU_ATOMICS(int8_t, int8_t)
SIM_GPU_ATOMICS(int16_t, int16_t)
SIM_GPU_ATOMICS(int32_t, int32_t)
SIM_GPU_ATOMICS(int64_t, int64_t)
SIM_GPU_ATOMICS(float, float)
SIM_GPU_ATOMICS(double, double)
SIM_GPU_ATOMICS(at::Half, float)
SIM_GPU_ATOMICS(at::BFloat16, float)
SIM_GPU_ATOMIC(gpuAtomicAdd, bool, old || value)
#undef SIM_GPU_ATOMICS
#undef SIM_GPU_ATOMIC

template <class T>
static inline void gpuAtomicAddNoReturn(T* address, T value) {
  gpuAtomicAdd(address, value);
}
