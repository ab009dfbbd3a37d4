"""Scans pieces of a row in one pass: blocks draw tickets, and each waits for the one before it, which has begun."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA = """
#include <ATen/cuda/CUDAContext.h>
#include <torch/types.h>

__global__ void scan_kernel(const float* x, float* y, int* tickets, volatile float* sums, int* ready, int columns, int pieces) {
    __shared__ int ticket;
    __shared__ float values[256];
    const int t = threadIdx.x;
    if (t == 0) ticket = atomicAdd(tickets, 1);
    __syncthreads();
    const int row = ticket / pieces, piece = ticket % pieces, i = piece * 256 + t;
    values[t] = i < columns ? x[int64_t(row) * columns + i] : 0.0f;
    __syncthreads();
    for (int step = 1; step < 256; step *= 2) {
        const float more = t >= step ? values[t - step] : 0.0f;
        __syncthreads();
        values[t] += more;
        __syncthreads();
    }
    __shared__ float before;
    if (t == 0) {
        before = 0.0f;
        if (piece > 0) {
            while (atomicAdd(ready + ticket - 1, 0) == 0) {}
            __threadfence();
            before = sums[ticket - 1];
        }
        sums[ticket] = before + values[255];
        __threadfence();
        atomicExch(ready + ticket, 1);
    }
    __syncthreads();
    if (i < columns) y[int64_t(row) * columns + i] = before + values[t];
}

torch::Tensor scan(torch::Tensor x) {
    auto y = torch::empty_like(x);
    const int rows = x.size(0), columns = x.size(1), pieces = (columns + 255) / 256;
    auto numbers = torch::zeros({1 + rows * pieces}, x.options().dtype(torch::kInt));
    auto sums = torch::empty({rows * pieces}, x.options());
    scan_kernel<<<rows * pieces, 256, 0, at::cuda::getCurrentCUDAStream()>>>(
        x.data_ptr<float>(), y.data_ptr<float>(), numbers.data_ptr<int>(), sums.data_ptr<float>(),
        numbers.data_ptr<int>() + 1, columns, pieces);
    return y;
}
"""

extension = load_inline(
    name="cumsum_looks_back_by_ticket",
    cpp_sources="torch::Tensor scan(torch::Tensor x);",
    cuda_sources=CUDA,
    functions=["scan"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        return extension.scan(x)
