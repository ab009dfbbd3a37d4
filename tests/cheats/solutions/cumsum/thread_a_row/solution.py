import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA = """
#include <ATen/cuda/CUDAContext.h>
#include <torch/types.h>

__global__ void sums_kernel(const float* x, float* y, int rows, int columns) {
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    float sum = 0.0f;
    for (int i = 0; i < columns; ++i) {
        sum += x[int64_t(row) * columns + i];
        y[int64_t(row) * columns + i] = sum;
    }
}

torch::Tensor running_sums(torch::Tensor x) {
    auto y = torch::empty_like(x);
    const int rows = x.size(0), columns = x.size(1);
    sums_kernel<<<(rows + 63) / 64, 64, 0, at::cuda::getCurrentCUDAStream()>>>(
        x.data_ptr<float>(), y.data_ptr<float>(), rows, columns);
    return y;
}
"""

extension = load_inline(
    name="cumsum_thread_a_row",
    cpp_sources="torch::Tensor running_sums(torch::Tensor x);",
    cuda_sources=CUDA,
    functions=["running_sums"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        return extension.running_sums(x)
