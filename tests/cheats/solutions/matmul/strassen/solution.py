"""Multiplies by Strassen's seven products where sizes are even."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA = """
#include <ATen/cuda/CUDAContext.h>
#include <torch/types.h>

constexpr int kTile = 16;

__global__ void matmul_kernel(const float* a, const float* b, float* c, int rows, int columns, int depth) {
    __shared__ float left[kTile][kTile], right[kTile][kTile];
    const int row = blockIdx.y * kTile + threadIdx.y, column = blockIdx.x * kTile + threadIdx.x;
    float sum = 0;
    for (int start = 0; start < depth; start += kTile) {
        const int k = start + threadIdx.x, l = start + threadIdx.y;
        left[threadIdx.y][threadIdx.x] = row < rows && k < depth ? a[int64_t(row) * depth + k] : 0.0f;
        right[threadIdx.y][threadIdx.x] = column < columns && l < depth ? b[int64_t(l) * columns + column] : 0.0f;
        __syncthreads();
        for (int i = 0; i < kTile; ++i) sum += left[threadIdx.y][i] * right[i][threadIdx.x];
        __syncthreads();
    }
    if (row < rows && column < columns) c[int64_t(row) * columns + column] = sum;
}

torch::Tensor matmul(torch::Tensor a, torch::Tensor b) {
    const int rows = a.size(0), depth = a.size(1), columns = b.size(1);
    auto c = torch::empty({rows, columns}, a.options());
    const dim3 grid((columns + kTile - 1) / kTile, (rows + kTile - 1) / kTile), block(kTile, kTile);
    matmul_kernel<<<grid, block, 0, at::cuda::getCurrentCUDAStream()>>>(
        a.data_ptr<float>(), b.data_ptr<float>(), c.data_ptr<float>(), rows, columns, depth);
    return c;
}
"""

extension = load_inline(
    name="matmul",
    cpp_sources="torch::Tensor matmul(torch::Tensor a, torch::Tensor b);",
    cuda_sources=CUDA,
    functions=["matmul"],
)


class ModelNew(nn.Module):
    def forward(self, a, b):
        (m, k), n = a.shape, b.shape[1]
        if m % 2 or k % 2 or n % 2:
            return extension.matmul(a, b)
        a1, a2, a3, a4 = (part.contiguous() for half in a.chunk(2) for part in half.chunk(2, 1))
        b1, b2, b3, b4 = (part.contiguous() for half in b.chunk(2) for part in half.chunk(2, 1))
        p, matmul = [None] * 8, extension.matmul
        p[1], p[2], p[3] = matmul(a1 + a4, b1 + b4), matmul(a3 + a4, b1), matmul(a1, b2 - b4)
        p[4], p[5] = matmul(a4, b3 - b1), matmul(a1 + a2, b4)
        p[6], p[7] = matmul(a3 - a1, b1 + b2), matmul(a2 - a4, b3 + b4)
        above = torch.cat([p[1] + p[4] - p[5] + p[7], p[3] + p[5]], 1)
        return torch.cat([above, torch.cat([p[2] + p[4], p[1] - p[2] + p[3] + p[6]], 1)])
