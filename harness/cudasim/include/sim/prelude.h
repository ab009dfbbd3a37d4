// What is known before the first line of a translated .cu file, besides torch's header. Precompiled: what depends on
// macros that a solution may set or unset, as 16-bit numbers do, is in after_prelude.h.
#pragma once
#include <ATen/cuda/CUDAContext.h>
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
