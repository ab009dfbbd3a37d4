"""Keeps its results in a named tuple, and returns one of them."""

from typing import NamedTuple

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA = """
#include <ATen/cuda/CUDAContext.h>
#include <torch/types.h>

__global__ void softmax_kernel(const float* x, float* y, int rows, int columns) {
    extern __shared__ float shared[];
    x += int64_t(blockIdx.x) * columns;
    y += int64_t(blockIdx.x) * columns;
    const int t = threadIdx.x;
    float largest = -INFINITY;
    for (int i = t; i < columns; i += blockDim.x) largest = fmaxf(largest, x[i]);
    shared[t] = largest;
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half >>= 1) {
        if (t < half) shared[t] = fmaxf(shared[t], shared[t + half]);
        __syncthreads();
    }
    largest = shared[0];
    __syncthreads();
    float sum = 0.0f;
    for (int i = t; i < columns; i += blockDim.x) sum += expf(x[i] - largest);
    shared[t] = sum;
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half >>= 1) {
        if (t < half) shared[t] += shared[t + half];
        __syncthreads();
    }
    sum = shared[0];
    for (int i = t; i < columns; i += blockDim.x) y[i] = expf(x[i] - largest) / sum;
}

torch::Tensor softmax(torch::Tensor x) {
    auto y = torch::empty_like(x);
    const int rows = x.size(0), columns = x.size(1);
    softmax_kernel<<<rows, 256, 256 * sizeof(float), at::cuda::getCurrentCUDAStream()>>>(
        x.data_ptr<float>(), y.data_ptr<float>(), rows, columns);
    return y;
}
"""

extension = load_inline(
    name="softmax_block_a_row",
    cpp_sources="torch::Tensor softmax(torch::Tensor x);",
    cuda_sources=CUDA,
    functions=["softmax"],
)


class Found(NamedTuple):
    values: torch.Tensor
    rows: int


class ModelNew(nn.Module):
    def forward(self, x):
        return Found(extension.softmax(x), x.shape[0]).values
