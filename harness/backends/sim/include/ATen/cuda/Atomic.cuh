// torch's names for atomic addition.
#pragma once
#include <cuda_bf16.h>
#include <cuda_fp16.h>

template <class T>
static inline T gpuAtomicAdd(T* address, T value) {
  return atomicAdd(address, value);
}
template <class T>
static inline void gpuAtomicAddNoReturn(T* address, T value) {
  atomicAdd(address, value);
}
