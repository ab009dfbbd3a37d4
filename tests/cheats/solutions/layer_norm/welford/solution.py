"""Finds mean and variance in one pass by Welford's method, merged among the threads of a warp."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA = """
#include <ATen/cuda/CUDAContext.h>
#include <torch/types.h>

__global__ void norm_kernel(const float* x, const float* weight, const float* bias, float* y, int columns, float eps) {
    x += int64_t(blockIdx.x) * columns;
    y += int64_t(blockIdx.x) * columns;
    float mean = 0.0f, squares = 0.0f, count = 0.0f;
    for (int i = threadIdx.x; i < columns; i += 32) {
        count += 1.0f;
        const float away = x[i] - mean;
        mean += away / count;
        squares += away * (x[i] - mean);
    }
    for (int offset = 16; offset > 0; offset /= 2) {
        const float other_mean = __shfl_xor_sync(0xffffffff, mean, offset);
        const float other_squares = __shfl_xor_sync(0xffffffff, squares, offset);
        const float other_count = __shfl_xor_sync(0xffffffff, count, offset);
        const float both = count + other_count, away = other_mean - mean;
        if (both > 0.0f) {
            squares += other_squares + away * away * count * other_count / both;
            mean = (mean * count + other_mean * other_count) / both;
        }
        count = both;
    }
    const float scale = rsqrtf(squares / columns + eps);
    for (int i = threadIdx.x; i < columns; i += 32) y[i] = (x[i] - mean) * scale * weight[i] + bias[i];
}

torch::Tensor layer_norm(torch::Tensor x, torch::Tensor weight, torch::Tensor bias, double eps) {
    auto y = torch::empty_like(x);
    norm_kernel<<<x.size(0), 32, 0, at::cuda::getCurrentCUDAStream()>>>(
        x.data_ptr<float>(), weight.data_ptr<float>(), bias.data_ptr<float>(), y.data_ptr<float>(), x.size(1), eps);
    return y;
}
"""

extension = load_inline(
    name="layer_norm_welford",
    cpp_sources="torch::Tensor layer_norm(torch::Tensor x, torch::Tensor weight, torch::Tensor bias, double eps);",
    cuda_sources=CUDA,
    functions=["layer_norm"],
)


class ModelNew(nn.Module):
    def __init__(self, columns):
        super().__init__()
        self.norm = nn.LayerNorm(columns)

    def forward(self, x):
        return extension.layer_norm(x, self.norm.weight, self.norm.bias, self.norm.eps)
