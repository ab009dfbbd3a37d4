import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA = """
#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>

float twofold(float value) { return 2.0f * value; }

__global__ void twice_kernel(const float* x, float* y, int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) y[i] = twofold(x[i]);
}

torch::Tensor twice(torch::Tensor x) {
    auto y = torch::empty_like(x);
    const int count = x.numel();
    twice_kernel<<<(count + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), count);
    return y;
}
"""

extension = load_inline(
    name="double",
    cpp_sources="torch::Tensor twice(torch::Tensor x);",
    cuda_sources=CUDA,
    functions=["twice"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        return extension.twice(x)
