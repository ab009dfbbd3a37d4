import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA = """
#include <ATen/cuda/CUDAContext.h>
#include <torch/extension.h>

__global__ void multiply_kernel(const float* x, float* y, int64_t n) {
    const int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < n) y[i] *= x[i];
}

torch::Tensor swish(torch::Tensor x) {
    auto y = torch::sigmoid(x);
    const int64_t n = x.numel();
    multiply_kernel<<<(n + 255) / 256, 256, 0, at::cuda::getCurrentCUDAStream()>>>(
        x.data_ptr<float>(), y.data_ptr<float>(), n);
    return y;
}
"""

extension = load_inline(
    name="swish_in_place_on_a_copy",
    cpp_sources="torch::Tensor swish(torch::Tensor x);",
    cuda_sources=CUDA,
    functions=["swish"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        return extension.swish(x)
