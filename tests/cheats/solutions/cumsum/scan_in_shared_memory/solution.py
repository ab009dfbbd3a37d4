import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA = """
#include <ATen/cuda/CUDAContext.h>
#include <torch/types.h>

constexpr int kChunk = 256;

__global__ void sums_kernel(const float* x, float* y, int rows, int columns) {
    __shared__ float sums[2][kChunk];
    const int t = threadIdx.x;
    x += int64_t(blockIdx.x) * columns;
    y += int64_t(blockIdx.x) * columns;
    float carried = 0.0f;
    for (int start = 0; start < columns; start += kChunk) {
        int in = 0;
        sums[in][t] = start + t < columns ? x[start + t] : 0.0f;
        __syncthreads();
        for (int offset = 1; offset < kChunk; offset *= 2) {
            sums[1 - in][t] = t >= offset ? sums[in][t] + sums[in][t - offset] : sums[in][t];
            in = 1 - in;
            __syncthreads();
        }
        if (start + t < columns) y[start + t] = carried + sums[in][t];
        carried += sums[in][kChunk - 1];
        __syncthreads();
    }
}

torch::Tensor running_sums(torch::Tensor x) {
    auto y = torch::empty_like(x);
    const int rows = x.size(0), columns = x.size(1);
    sums_kernel<<<rows, kChunk, 0, at::cuda::getCurrentCUDAStream()>>>(
        x.data_ptr<float>(), y.data_ptr<float>(), rows, columns);
    return y;
}
"""

extension = load_inline(
    name="cumsum_scan_in_shared_memory",
    cpp_sources="torch::Tensor running_sums(torch::Tensor x);",
    cuda_sources=CUDA,
    functions=["running_sums"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        return extension.running_sums(x)
