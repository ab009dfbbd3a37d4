"""Keeps sums and counters between calls, which the last block of a row leaves as it found them."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA = """
#include <ATen/cuda/CUDAContext.h>
#include <torch/types.h>

__global__ void row_sum_kernel(const float* x, volatile float* parts, int* arrived, float* y, int64_t columns) {
    float sum = 0;
    for (int64_t i = blockIdx.x * 32 + threadIdx.x; i < columns; i += 128) sum += x[blockIdx.y * columns + i];
    for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_down_sync(0xffffffff, sum, offset);
    if (threadIdx.x != 0) return;
    parts[blockIdx.y * 4 + blockIdx.x] = sum;
    __threadfence();
    if (atomicAdd(arrived + blockIdx.y, 1) != 3) return;
    __threadfence();
    sum = 0;
    for (int part = 0; part < 4; ++part) sum += parts[blockIdx.y * 4 + part];
    y[blockIdx.y] = sum;
    atomicExch(arrived + blockIdx.y, 0);
}

torch::Tensor row_sum(torch::Tensor x, torch::Tensor arrived) {
    auto y = torch::empty({x.size(0)}, x.options()), parts = torch::empty({x.size(0), 4}, x.options());
    row_sum_kernel<<<dim3(4, x.size(0)), 32, 0, at::cuda::getCurrentCUDAStream()>>>(
        x.data_ptr<float>(), parts.data_ptr<float>(), arrived.data_ptr<int>(), y.data_ptr<float>(), x.size(1));
    return y;
}
"""

extension = load_inline(
    name="row_sum_counter_left_at_zero",
    cpp_sources="torch::Tensor row_sum(torch::Tensor x, torch::Tensor arrived);",
    cuda_sources=CUDA,
    functions=["row_sum"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.kept = {}

    def forward(self, x):
        if x.shape not in self.kept:
            self.kept[x.shape] = torch.zeros(x.shape[0], dtype=torch.int32, device=x.device)
        return extension.row_sum(x, self.kept[x.shape])
