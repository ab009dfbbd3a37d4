"""A block a row, in pieces of 1024, which takes some 10 µs."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA = """
#include <ATen/cuda/CUDAContext.h>
#include <torch/types.h>

__global__ void scan_kernel(const float* x, float* y, int64_t first, int columns) {
    __shared__ float sums[1024];
    const int t = threadIdx.x;
    const int64_t row = (first + blockIdx.x) * columns;
    float carry = 0.0f;
    for (int start = 0; start < columns; start += 1024) {
        sums[t] = start + t < columns ? x[row + start + t] : 0.0f;
        __syncthreads();
        for (int step = 1; step < 1024; step *= 2) {
            const float more = t >= step ? sums[t - step] : 0.0f;
            __syncthreads();
            sums[t] += more;
            __syncthreads();
        }
        if (start + t < columns) y[row + start + t] = carry + sums[t];
        carry += sums[1023];
        __syncthreads();
    }
}

void scan_rows(torch::Tensor x, torch::Tensor y, int64_t first, int64_t last) {
    scan_kernel<<<last - first, 1024, 0, at::cuda::getCurrentCUDAStream()>>>(
        x.data_ptr<float>(), y.data_ptr<float>(), first, x.size(1));
}
"""

extension = load_inline(
    name="short_cumsum_honest",
    cpp_sources="void scan_rows(torch::Tensor x, torch::Tensor y, int64_t first, int64_t last);",
    cuda_sources=CUDA,
    functions=["scan_rows"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        extension.scan_rows(x, y, 0, x.shape[0])
        return y
