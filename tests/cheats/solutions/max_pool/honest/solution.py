import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA = """
#include <ATen/cuda/CUDAContext.h>
#include <torch/types.h>

__global__ void pool_kernel(const float* x, float* y, int height, int width, int out_height, int out_width,
                            int kernel, int stride, int padding, int64_t count) {
    const int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i >= count) return;
    const int64_t plane = i / (out_height * out_width);
    const int top = i / out_width % out_height * stride - padding, left = i % out_width * stride - padding;
    x += plane * height * width;
    float best = -INFINITY;
    for (int row = max(top, 0); row < min(top + kernel, height); ++row)
        for (int column = max(left, 0); column < min(left + kernel, width); ++column) {
            const float value = x[row * width + column];
            if (value > best || value != value) best = value;
        }
    y[i] = best;
}

torch::Tensor pool(torch::Tensor x, int64_t kernel, int64_t stride, int64_t padding) {
    const int64_t height = x.size(2), width = x.size(3);
    const int64_t out_height = (height + 2 * padding - kernel) / stride + 1;
    const int64_t out_width = (width + 2 * padding - kernel) / stride + 1;
    auto y = torch::empty({x.size(0), x.size(1), out_height, out_width}, x.options());
    pool_kernel<<<(y.numel() + 255) / 256, 256, 0, at::cuda::getCurrentCUDAStream()>>>(
        x.data_ptr<float>(), y.data_ptr<float>(), height, width, out_height, out_width, kernel, stride, padding,
        y.numel());
    return y;
}
"""

extension = load_inline(
    name="pool",
    cpp_sources="torch::Tensor pool(torch::Tensor x, int64_t kernel, int64_t stride, int64_t padding);",
    cuda_sources=CUDA,
    functions=["pool"],
)


class ModelNew(nn.Module):
    def __init__(self, kernel_size, stride, padding):
        super().__init__()
        self.how = kernel_size, stride, padding

    def forward(self, x):
        return extension.pool(x, *self.how)
