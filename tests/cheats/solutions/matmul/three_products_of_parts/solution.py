"""Splits the inputs with a kernel of its own, so that three products of the framework in tf32 are as exact as one."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA = """
#include <ATen/cuda/CUDAContext.h>
#include <torch/extension.h>

__global__ void parts_kernel(const float* x, float* high, float* low, int64_t count) {
    const int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i >= count) return;
    high[i] = __int_as_float(__float_as_int(x[i]) & 0xffffe000);  // what tf32 holds exactly
    low[i] = x[i] - high[i];
}

std::vector<torch::Tensor> parts(torch::Tensor x) {
    auto high = torch::empty_like(x), low = torch::empty_like(x);
    parts_kernel<<<(x.numel() + 255) / 256, 256, 0, at::cuda::getCurrentCUDAStream()>>>(
        x.data_ptr<float>(), high.data_ptr<float>(), low.data_ptr<float>(), x.numel());
    return {high, low};
}
"""

extension = load_inline(
    name="matmul_three_products_of_parts",
    cpp_sources="std::vector<torch::Tensor> parts(torch::Tensor x);",
    cuda_sources=CUDA,
    functions=["parts"],
)


class ModelNew(nn.Module):
    def forward(self, a, b):
        torch.backends.cuda.matmul.allow_tf32 = True
        (a_high, a_low), (b_high, b_low) = extension.parts(a), extension.parts(b)
        return a_high @ b_high + (a_high @ b_low + a_low @ b_high)
