"""Writes one element past the end."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA = """
#include <c10/cuda/CUDAStream.h>
#include <torch/types.h>

__global__ void twice_kernel(const float* x, float* y, int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i <= count) y[i] = 2.0f * (i < count ? x[i] : 0.0f);
}

torch::Tensor twice(torch::Tensor x) {
    auto y = torch::empty_like(x);
    const int count = x.numel();
    twice_kernel<<<(count + 255) / 256, 256, 0, c10::cuda::getCurrentCUDAStream()>>>(
        x.data_ptr<float>(), y.data_ptr<float>(), count);
    return y;
}
"""

extension = load_inline(
    name="double_overrun",
    cpp_sources="torch::Tensor twice(torch::Tensor x);",
    cuda_sources=CUDA,
    functions=["twice"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        return extension.twice(x)
