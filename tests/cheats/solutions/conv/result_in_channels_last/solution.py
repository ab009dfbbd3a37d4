"""Returns its result in channels-last memory."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA = """
#include <ATen/cuda/CUDAContext.h>
#include <torch/types.h>

__global__ void conv_kernel(const float* x, const float* weight, float* y, int in_channels, int out_channels,
                            int height, int width, int64_t count) {
    const int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i >= count) return;
    const int out_width = width - 2, out_height = height - 2;
    const int column = i % out_width, row = i / out_width % out_height;
    const int channel = i / out_width / out_height % out_channels;
    const int64_t image = i / out_width / out_height / out_channels;
    float sum = 0;
    for (int in = 0; in < in_channels; ++in)
        for (int k = 0; k < 9; ++k)
            sum += x[((image * in_channels + in) * height + row + k / 3) * width + column + k % 3] *
                   weight[(channel * in_channels + in) * 9 + k];
    y[i] = sum;
}

torch::Tensor conv(torch::Tensor x, torch::Tensor weight) {
    auto y = torch::empty({x.size(0), weight.size(0), x.size(2) - 2, x.size(3) - 2}, x.options());
    conv_kernel<<<(y.numel() + 255) / 256, 256, 0, at::cuda::getCurrentCUDAStream()>>>(
        x.data_ptr<float>(), weight.data_ptr<float>(), y.data_ptr<float>(), x.size(1), weight.size(0), x.size(2),
        x.size(3), y.numel());
    return y;
}
"""

extension = load_inline(
    name="conv",
    cpp_sources="torch::Tensor conv(torch::Tensor x, torch::Tensor weight);",
    cuda_sources=CUDA,
    functions=["conv"],
)


class ModelNew(nn.Module):
    def __init__(self, in_channels, out_channels):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, 3, bias=False)

    def forward(self, x):
        return extension.conv(x, self.conv.weight).contiguous(memory_format=torch.channels_last)
