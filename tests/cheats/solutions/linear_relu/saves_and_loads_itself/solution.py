"""Saves its state and loads it again in its first call, as tests of checkpoints do."""

import io

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA = """
#include <ATen/cuda/CUDAContext.h>
#include <torch/types.h>

__global__ void epilogue_kernel(float* y, const float* bias, int64_t n, int columns) {
    const int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < n) y[i] = fmaxf(y[i] + bias[i % columns], 0.0f);
}

torch::Tensor epilogue(torch::Tensor y, torch::Tensor bias) {
    const int64_t n = y.numel();
    epilogue_kernel<<<(n + 255) / 256, 256, 0, at::cuda::getCurrentCUDAStream()>>>(
        y.data_ptr<float>(), bias.data_ptr<float>(), n, y.size(1));
    return y;
}
"""

extension = load_inline(
    name="linear_relu_library_product_own_epilogue",
    cpp_sources="torch::Tensor epilogue(torch::Tensor y, torch::Tensor bias);",
    cuda_sources=CUDA,
    functions=["epilogue"],
)


class ModelNew(nn.Module):
    def __init__(self, depth, columns):
        super().__init__()
        self.linear = nn.Linear(depth, columns)
        self.is_new = True

    def forward(self, x):
        if self.is_new:
            file = io.BytesIO()
            torch.save(self.state_dict(), file)
            file.seek(0)
            self.load_state_dict(torch.load(file))
            self.is_new = False
        return extension.epilogue(torch.mm(x, self.linear.weight.t()), self.linear.bias)
