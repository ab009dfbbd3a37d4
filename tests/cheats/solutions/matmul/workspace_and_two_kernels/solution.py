import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA = """
#include <ATen/cuda/CUDAContext.h>
#include <torch/types.h>

__global__ void half_kernel(const float* a, const float* b, float* parts, int rows, int columns, int depth) {
    const int column = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 8 + threadIdx.y, part = blockIdx.z;
    if (row >= rows || column >= columns) return;
    const int half = (depth + 1) / 2, last = min(depth, (part + 1) * half);
    float sum = 0;
    for (int k = part * half; k < last; ++k) sum += a[row * depth + k] * b[k * columns + column];
    parts[(int64_t(part) * rows + row) * columns + column] = sum;
}

__global__ void add_kernel(const float* parts, float* c, int64_t n) {
    const int64_t i = int64_t(blockIdx.x) * 256 + threadIdx.x;
    if (i < n) c[i] = parts[i] + parts[i + n];
}

torch::Tensor product(torch::Tensor a, torch::Tensor b, torch::Tensor parts) {
    const int rows = a.size(0), depth = a.size(1), columns = b.size(1);
    auto c = torch::empty({rows, columns}, a.options());
    auto stream = at::cuda::getCurrentCUDAStream();
    half_kernel<<<dim3((columns + 31) / 32, (rows + 7) / 8, 2), dim3(32, 8), 0, stream>>>(
        a.data_ptr<float>(), b.data_ptr<float>(), parts.data_ptr<float>(), rows, columns, depth);
    add_kernel<<<(c.numel() + 255) / 256, 256, 0, stream>>>(parts.data_ptr<float>(), c.data_ptr<float>(), c.numel());
    return c;
}
"""

extension = load_inline(
    name="matmul_workspace_and_two_kernels",
    cpp_sources="torch::Tensor product(torch::Tensor a, torch::Tensor b, torch::Tensor parts);",
    cuda_sources=CUDA,
    functions=["product"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.parts = None

    def forward(self, a, b):
        if self.parts is None:
            self.parts = torch.empty(2, a.shape[0], b.shape[1], device=a.device)
        return extension.product(a, b, self.parts)
