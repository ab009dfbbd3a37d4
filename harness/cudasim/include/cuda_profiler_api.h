// A profiler has nothing to see here.
#pragma once
#include <cuda_runtime.h>

static inline cudaError_t cudaProfilerStart() { return cudaSuccess; }
static inline cudaError_t cudaProfilerStop() { return cudaSuccess; }
