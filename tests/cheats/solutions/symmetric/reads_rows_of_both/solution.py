import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA = """
#include <ATen/cuda/CUDAContext.h>
#include <torch/types.h>

__global__ void product_kernel(const float* a, const float* b, float* c, int n) {
    const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
    if (row >= n || column >= n) return;
    float sum = 0.0f;
    for (int k = 0; k < n; ++k) sum = fmaf(a[k * n + row], b[column * n + k], sum);
    c[row * n + column] = sum;
}

torch::Tensor product(torch::Tensor a, torch::Tensor b) {
    const int n = a.size(0);
    auto c = torch::empty({n, n}, a.options());
    const dim3 block(16, 16), grid((n + 15) / 16, (n + 15) / 16);
    product_kernel<<<grid, block, 0, at::cuda::getCurrentCUDAStream()>>>(
        a.data_ptr<float>(), b.data_ptr<float>(), c.data_ptr<float>(), n);
    return c;
}
"""

extension = load_inline(
    name="symmetric_reads_rows_of_both",
    cpp_sources="torch::Tensor product(torch::Tensor a, torch::Tensor b);",
    cuda_sources=CUDA,
    functions=["product"],
)


class ModelNew(nn.Module):
    def forward(self, a, b):
        return extension.product(a, b)
