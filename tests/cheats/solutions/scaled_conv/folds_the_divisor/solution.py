import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA = """
#include <ATen/cuda/CUDAContext.h>
#include <torch/types.h>

__global__ void tail_kernel(const float* x, const float* bias, float* y, int channels, int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) y[i] = x[i] + bias[i % channels];
}

torch::Tensor tail(torch::Tensor x, torch::Tensor bias) {
    auto y = torch::empty_like(x);
    const int count = x.numel();
    tail_kernel<<<(count + 255) / 256, 256, 0, at::cuda::getCurrentCUDAStream()>>>(
        x.data_ptr<float>(), bias.data_ptr<float>(), y.data_ptr<float>(), x.size(1), count);
    return y;
}
"""

extension = load_inline(
    name="tail_of_the_folded",
    cpp_sources="torch::Tensor tail(torch::Tensor x, torch::Tensor bias);",
    cuda_sources=CUDA,
    functions=["tail"],
)


class ModelNew(nn.Module):
    def __init__(self, in_channels, out_channels, divisor):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, 3)
        with torch.no_grad():
            self.conv.weight /= divisor
            self.conv.bias /= divisor
        self.bias = nn.Parameter(torch.randn(out_channels))

    def forward(self, x):
        return extension.tail(self.conv(x).mean(dim=(2, 3)), self.bias)
