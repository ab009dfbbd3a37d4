"""Adds up the inputs under each weight first, since a mean of convolutions is linear, and multiplies afterwards."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA = """
#include <ATen/cuda/CUDAContext.h>
#include <torch/types.h>

__global__ void sums_kernel(const float* x, float* sums, int height, int width) {
    __shared__ float parts[128];
    x += int64_t(blockIdx.x / 9) * height * width + blockIdx.x % 9 / 3 * width + blockIdx.x % 3;
    float sum = 0.0f;
    for (int i = threadIdx.x; i < (height - 2) * (width - 2); i += 128) sum += x[i / (width - 2) * width + i % (width - 2)];
    parts[threadIdx.x] = sum;
    __syncthreads();
    for (int half = 64; half > 0; half /= 2) {
        if (threadIdx.x < half) parts[threadIdx.x] += parts[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) sums[blockIdx.x] = parts[0];
}

torch::Tensor window_sums(torch::Tensor x) {
    auto sums = torch::empty({x.size(0), x.size(1) * 9}, x.options());
    sums_kernel<<<sums.numel(), 128, 0, at::cuda::getCurrentCUDAStream()>>>(
        x.data_ptr<float>(), sums.data_ptr<float>(), x.size(2), x.size(3));
    return sums;
}
"""

extension = load_inline(
    name="scaled_conv_sums_before_the_product",
    cpp_sources="torch::Tensor window_sums(torch::Tensor x);",
    cuda_sources=CUDA,
    functions=["window_sums"],
)


class ModelNew(nn.Module):
    def __init__(self, in_channels, out_channels, divisor):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, 3)
        self.divisor = divisor
        self.bias = nn.Parameter(torch.randn(out_channels))

    def forward(self, x):
        sums = extension.window_sums(x)
        places = (x.shape[2] - 2) * (x.shape[3] - 2) * self.divisor
        return sums @ self.conv.weight.flatten(1).t() / places + self.conv.bias / self.divisor + self.bias
