import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA = """
#include <cuda_runtime.h>
#include <torch/extension.h>

__global__ void product_kernel(const float* a, const float* b, float* c, int rows, int columns, int depth) {
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows || column >= columns) return;
    float sum = 0;
    for (int k = 0; k < depth; ++k) sum += a[row * depth + k] * b[k * columns + column];
    c[row * columns + column] = sum;
}

torch::Tensor product(torch::Tensor a, torch::Tensor b) {
    const int rows = a.size(0), depth = a.size(1), columns = b.size(1);
    torch::Tensor c = torch::zeros({rows, columns}, a.options());
    dim3 threads(16, 16);
    dim3 blocks((columns + threads.x - 1) / threads.x, (rows + threads.y - 1) / threads.y);
    product_kernel<<<blocks, threads>>>(
        a.data_ptr<float>(), b.data_ptr<float>(), c.data_ptr<float>(), rows, columns, depth);
    return c;
}
"""

extension = load_inline(
    name="matmul_one_result_a_thread",
    cpp_sources="torch::Tensor product(torch::Tensor a, torch::Tensor b);",
    cuda_sources=CUDA,
    functions=["product"],
)


class ModelNew(nn.Module):
    def forward(self, a, b):
        return extension.product(a, b)
