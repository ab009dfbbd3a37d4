import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA = """
#include <ATen/cuda/CUDAContext.h>
#include <torch/types.h>

__global__ void copy_kernel(const float* x, float* y, float factor, int64_t count) {
    const int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < count) y[i] = factor * x[i];
}

torch::Tensor twice(torch::Tensor x) {
    static float* pool = nullptr;
    static int64_t size = 0;
    if (x.numel() > size) {
        if (pool) cudaFree(pool);
        TORCH_CHECK(cudaMalloc(&pool, x.numel() * sizeof(float)) == cudaSuccess, "no memory for the pool");
        size = x.numel();
    }
    auto y = torch::empty_like(x);
    const auto stream = at::cuda::getCurrentCUDAStream();
    const int64_t blocks = (x.numel() + 255) / 256;
    copy_kernel<<<blocks, 256, 0, stream>>>(x.data_ptr<float>(), pool, 2.0f, x.numel());
    copy_kernel<<<blocks, 256, 0, stream>>>(pool, y.data_ptr<float>(), 1.0f, x.numel());
    return y;
}
"""

extension = load_inline(
    name="double_with_pool",
    cpp_sources="torch::Tensor twice(torch::Tensor x);",
    cuda_sources=CUDA,
    functions=["twice"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        return extension.twice(x)
