"""Takes the fast exponential and division, which lose a few bits and overflow sooner."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA = """
#include <ATen/cuda/CUDAContext.h>
#include <torch/types.h>

__global__ void elementwise_kernel(const float* __restrict__ x, float* __restrict__ y, int64_t count) {
    const int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < count) y[i] = __fdividef(x[i], 1.0f + __expf(-x[i]));
}

torch::Tensor swish(torch::Tensor x) {
    auto y = torch::empty_like(x);
    elementwise_kernel<<<(x.numel() + 255) / 256, 256, 0, at::cuda::getCurrentCUDAStream()>>>(
        x.data_ptr<float>(), y.data_ptr<float>(), x.numel());
    return y;
}
"""

extension = load_inline(
    name="swish_fast_intrinsics",
    cpp_sources="torch::Tensor swish(torch::Tensor x);",
    cuda_sources=CUDA,
    functions=["swish"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        return extension.swish(x)
