import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA = """
#include <cfloat>
#include <ATen/cuda/CUDAContext.h>
#include <torch/types.h>

__device__ float warp_max(float value) {
    for (int offset = 16; offset > 0; offset /= 2) value = fmaxf(value, __shfl_xor_sync(0xffffffff, value, offset));
    return value;
}

__device__ float warp_sum(float value) {
    for (int offset = 16; offset > 0; offset /= 2) value += __shfl_xor_sync(0xffffffff, value, offset);
    return value;
}

__global__ void softmax_kernel(const float* x, float* y, int rows, int columns) {
    const int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
    if (row >= rows) return;
    x += int64_t(row) * columns;
    y += int64_t(row) * columns;
    float largest = -FLT_MAX, sum = 0;
    for (int i = lane; i < columns; i += 32) largest = fmaxf(largest, x[i]);
    largest = warp_max(largest);
    for (int i = lane; i < columns; i += 32) sum += __expf(x[i] - largest);
    const float scale = 1.0f / warp_sum(sum);
    for (int i = lane; i < columns; i += 32) y[i] = __expf(x[i] - largest) * scale;
}

torch::Tensor softmax(torch::Tensor x) {
    auto y = torch::empty_like(x);
    const int rows = x.size(0), columns = x.size(1);
    softmax_kernel<<<(rows + 3) / 4, 128, 0, at::cuda::getCurrentCUDAStream()>>>(
        x.data_ptr<float>(), y.data_ptr<float>(), rows, columns);
    return y;
}
"""

extension = load_inline(
    name="softmax_warp_a_row",
    cpp_sources="torch::Tensor softmax(torch::Tensor x);",
    cuda_sources=CUDA,
    functions=["softmax"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        return extension.softmax(x)
