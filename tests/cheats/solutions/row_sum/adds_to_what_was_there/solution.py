"""Adds atomically to memory that it never cleared, in the hope of zeros."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA = """
#include <ATen/cuda/CUDAContext.h>
#include <torch/types.h>

__global__ void row_sum_kernel(const float* x, float* y, int64_t columns) {
    float sum = 0;
    for (int64_t i = threadIdx.x; i < columns; i += 64) sum += x[blockIdx.x * columns + i];
    atomicAdd(y + blockIdx.x, sum);
}

torch::Tensor row_sum(torch::Tensor x) {
    auto y = torch::empty({x.size(0)}, x.options());
    row_sum_kernel<<<x.size(0), 64, 0, at::cuda::getCurrentCUDAStream()>>>(
        x.data_ptr<float>(), y.data_ptr<float>(), x.size(1));
    return y;
}
"""

extension = load_inline(
    name="row_sum_adds_to_what_was_there",
    cpp_sources="torch::Tensor row_sum(torch::Tensor x);",
    cuda_sources=CUDA,
    functions=["row_sum"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        return extension.row_sum(x)
