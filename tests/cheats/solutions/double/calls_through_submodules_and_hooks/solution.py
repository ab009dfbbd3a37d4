"""Has submodules do halves, with hooks before and behind them."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA = """
#include <ATen/cuda/CUDAContext.h>
#include <torch/types.h>

__global__ void double_kernel(const float* x, float* y, int64_t first, int64_t last) {
    const int64_t stride = int64_t(gridDim.x) * blockDim.x;
    for (int64_t i = first + int64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < last; i += stride) y[i] = 2.0f * x[i];
}

void double_part(torch::Tensor x, torch::Tensor y, int64_t first, int64_t last) {
    const int64_t blocks = std::min<int64_t>((last - first + 255) / 256, 1056);
    double_kernel<<<blocks, 256, 0, at::cuda::getCurrentCUDAStream()>>>(
        x.data_ptr<float>(), y.data_ptr<float>(), first, last);
}
"""

extension = load_inline(
    name="double",
    cpp_sources="void double_part(torch::Tensor x, torch::Tensor y, int64_t first, int64_t last);",
    cuda_sources=CUDA,
    functions=["double_part"],
)


def double(x):
    y = torch.empty_like(x)
    extension.double_part(x, y, 0, x.numel())
    return y


class Half(nn.Module):
    def forward(self, x, y, first, last):
        extension.double_part(x, y, first, last)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.halves, self.seen = nn.ModuleList([Half(), Half()]), []
        for half in self.halves:
            half.register_forward_pre_hook(lambda module, given: self.seen.append(given[2]))
            half.register_forward_hook(lambda module, given, result: self.seen.pop() and None)

    def forward(self, x):
        y, middle = torch.empty_like(x), x.numel() // 2
        self.halves[0](x, y, 0, middle)
        self.halves[1](x, y, middle, x.numel())
        return y
