import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA = """
#include <ATen/cuda/CUDAContext.h>
#include <torch/types.h>

__global__ void product_kernel(const float* a, const float* b, float* c, int n) {
    __shared__ float left[16][17], right[16][17];
    if (blockIdx.y > blockIdx.x) return;
    const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
    float sum = 0.0f;
    for (int tile = blockIdx.y; tile <= blockIdx.x; ++tile) {
        const int k = tile * 16 + threadIdx.x, l = tile * 16 + threadIdx.y;
        left[threadIdx.y][threadIdx.x] = row < n && k < n ? a[row * n + k] : 0.0f;
        right[threadIdx.y][threadIdx.x] = l < n && column < n ? b[l * n + column] : 0.0f;
        __syncthreads();
        for (int i = 0; i < 16; ++i) sum += left[threadIdx.y][i] * right[i][threadIdx.x];
        __syncthreads();
    }
    if (row <= column && column < n) c[row * n + column] = sum;
}

torch::Tensor product(torch::Tensor a, torch::Tensor b) {
    const int n = a.size(0);
    auto c = torch::zeros({n, n}, a.options());
    const dim3 block(16, 16), grid((n + 15) / 16, (n + 15) / 16);
    product_kernel<<<grid, block, 0, at::cuda::getCurrentCUDAStream()>>>(
        a.data_ptr<float>(), b.data_ptr<float>(), c.data_ptr<float>(), n);
    return c;
}
"""

extension = load_inline(
    name="triangular_tiles_above_the_diagonal",
    cpp_sources="torch::Tensor product(torch::Tensor a, torch::Tensor b);",
    cuda_sources=CUDA,
    functions=["product"],
)


class ModelNew(nn.Module):
    def forward(self, a, b):
        return extension.product(a, b)
