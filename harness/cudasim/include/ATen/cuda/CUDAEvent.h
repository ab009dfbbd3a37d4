// torch's events, and what torch's header includes with them.
#pragma once
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAEvent.h>

namespace at::cuda {
using c10::cuda::CUDAEvent;
}  // namespace at::cuda
