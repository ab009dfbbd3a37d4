"""Has the last of two blocks add up both parts, without a fence between a part and the counter."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA = """
#include <ATen/cuda/CUDAContext.h>
#include <torch/types.h>

__global__ void row_sum_kernel(const float* x, float* parts, int* arrived, float* y, int64_t columns) {
    __shared__ float sums[64];
    float sum = 0;
    for (int64_t i = blockIdx.x * 64 + threadIdx.x; i < columns; i += 128) sum += x[blockIdx.y * columns + i];
    sums[threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.x != 0) return;
    for (int i = 1; i < 64; ++i) sum += sums[i];
    parts[blockIdx.y * 2 + blockIdx.x] = sum;
    if (atomicAdd(arrived + blockIdx.y, 1) == 1) y[blockIdx.y] = parts[blockIdx.y * 2] + parts[blockIdx.y * 2 + 1];
}

torch::Tensor row_sum(torch::Tensor x) {
    auto y = torch::empty({x.size(0)}, x.options()), parts = torch::empty({x.size(0), 2}, x.options());
    auto arrived = torch::zeros({x.size(0)}, x.options().dtype(torch::kInt));
    row_sum_kernel<<<dim3(2, x.size(0)), 64, 0, at::cuda::getCurrentCUDAStream()>>>(
        x.data_ptr<float>(), parts.data_ptr<float>(), arrived.data_ptr<int>(), y.data_ptr<float>(), x.size(1));
    return y;
}
"""

extension = load_inline(
    name="row_sum_counts_blocks_without_a_fence",
    cpp_sources="torch::Tensor row_sum(torch::Tensor x);",
    cuda_sources=CUDA,
    functions=["row_sum"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        return extension.row_sum(x)
