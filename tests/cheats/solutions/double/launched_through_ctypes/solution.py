"""Calls a C function of its own library by ctypes, with addresses."""

import ctypes

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA = """
#include <cuda_runtime.h>
#include <torch/types.h>

__global__ void double_kernel(const float* x, float* y, int64_t count) {
    const int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < count) y[i] = 2.0f * x[i];
}

extern "C" void twice(const void* x, void* y, int64_t count) {
    double_kernel<<<(count + 255) / 256, 256>>>(static_cast<const float*>(x), static_cast<float*>(y), count);
}

int64_t version() { return 1; }
"""

extension = load_inline(
    name="double_launched_through_ctypes",
    cpp_sources="int64_t version();",
    cuda_sources=CUDA,
    functions=["version"],
)


library = ctypes.CDLL(extension.__file__)
library.twice.argtypes = ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        library.twice(x.data_ptr(), y.data_ptr(), x.numel())
        return y
