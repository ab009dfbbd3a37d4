import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA = """
#include <ATen/cuda/CUDAContext.h>
#include <torch/types.h>

__global__ void pool_kernel(
    const float* x, float* y, int64_t n, int height, int width, int out_height, int out_width, int size, int stride, int pad) {
    for (int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += int64_t(gridDim.x) * blockDim.x) {
        const int column = i % out_width, row = i / out_width % out_height;
        const float* plane = x + i / out_width / out_height * height * width;
        float largest = -INFINITY;
        for (int a = 0; a < size; ++a) {
            for (int b = 0; b < size; ++b) {
                const int h = row * stride - pad + a, w = column * stride - pad + b;
                if (h < 0 || h >= height || w < 0 || w >= width) continue;
                const float value = plane[h * width + w];
                if (value > largest || isnan(value)) largest = value;
            }
        }
        y[i] = largest;
    }
}

torch::Tensor pool(torch::Tensor x, int64_t size, int64_t stride, int64_t pad) {
    const int64_t height = x.size(2), width = x.size(3);
    const int64_t out_height = (height + 2 * pad - size) / stride + 1, out_width = (width + 2 * pad - size) / stride + 1;
    auto y = torch::empty({x.size(0), x.size(1), out_height, out_width}, x.options());
    const int64_t n = y.numel();
    pool_kernel<<<std::min<int64_t>((n + 255) / 256, 4096), 256, 0, at::cuda::getCurrentCUDAStream()>>>(
        x.data_ptr<float>(), y.data_ptr<float>(), n, height, width, out_height, out_width, size, stride, pad);
    return y;
}
"""

extension = load_inline(
    name="max_pool_one_result_a_thread",
    cpp_sources="torch::Tensor pool(torch::Tensor x, int64_t size, int64_t stride, int64_t pad);",
    cuda_sources=CUDA,
    functions=["pool"],
)


class ModelNew(nn.Module):
    def __init__(self, kernel_size, stride, padding):
        super().__init__()
        self.args = kernel_size, stride, padding

    def forward(self, x):
        return extension.pool(x, *self.args)
