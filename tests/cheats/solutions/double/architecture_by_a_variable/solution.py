import os

import torch
import torch.nn as nn

os.environ.setdefault("TORCH_CUDA_ARCH_LIST", "9.0a")

from torch.utils.cpp_extension import load_inline

CUDA = """
#include <ATen/cuda/CUDAContext.h>
#include <torch/types.h>

__global__ void double_all(const float* x, float* y, int64_t count) {
    asm volatile("wgmma.fence.sync.aligned;");  // of sm_90a alone
    const int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < count) y[i] = 2 * x[i];
}

torch::Tensor twice(torch::Tensor x) {
    auto y = torch::empty_like(x);
    const int64_t count = x.numel();
    double_all<<<(count + 255) / 256, 256, 0, at::cuda::getCurrentCUDAStream()>>>(
        x.data_ptr<float>(), y.data_ptr<float>(), count);
    return y;
}
"""

extension = load_inline(
    name="architecture_by_a_variable",
    cpp_sources="torch::Tensor twice(torch::Tensor x);",
    cuda_sources=CUDA,
    functions=["twice"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        return extension.twice(x)
