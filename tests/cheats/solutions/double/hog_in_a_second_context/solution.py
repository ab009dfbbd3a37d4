"""Leaves a long kernel in a CUDA context of its own, for which nobody waits, in the way of the next turn."""

import ctypes
import sys

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA = """
#include <ATen/cuda/CUDAContext.h>
#include <torch/types.h>

__global__ void double_kernel(const float* x, float* y, int64_t count) {
    const int64_t stride = int64_t(gridDim.x) * blockDim.x;
    for (int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += stride) y[i] = 2.0f * x[i];
}

__global__ void spin_kernel(long long cycles) {
    const long long start = clock64();
    while (clock64() - start < cycles) {}
}

torch::Tensor twice(torch::Tensor x) {
    auto y = torch::empty_like(x);
    double_kernel<<<1056, 256, 0, at::cuda::getCurrentCUDAStream()>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.numel());
    return y;
}

void spin(int64_t cycles) { spin_kernel<<<1056, 256>>>(cycles); }
"""

extension = load_inline(
    name="double_hog_in_a_second_context",
    cpp_sources="torch::Tensor twice(torch::Tensor x); void spin(int64_t cycles);",
    cuda_sources=CUDA,
    functions=["twice", "spin"],
)


driver = ctypes.CDLL("libcuda.so.1")
hog, usual = ctypes.c_void_p(), ctypes.c_void_p()


def leave_a_hog():
    """In turns that aren't traced."""
    frame = sys._getframe()
    while "request" not in frame.f_locals:
        frame = frame.f_back
    if frame.f_locals["request"].traced:
        return
    driver.cuCtxGetCurrent(ctypes.byref(usual))
    if not hog:
        assert driver.cuCtxCreate_v2(ctypes.byref(hog), 0, 0) == 0
    driver.cuCtxSetCurrent(hog)
    extension.spin(8_000_000)
    driver.cuCtxSetCurrent(usual)


class ModelNew(nn.Module):
    def forward(self, x):
        y = extension.twice(x)
        leave_a_hog()
        return y
