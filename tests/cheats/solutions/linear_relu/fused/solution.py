import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA = """
#include <ATen/cuda/CUDAContext.h>
#include <torch/types.h>

__global__ void linear_kernel(
    const float* x, const float* weight, const float* bias, float* y, int rows, int columns, int depth) {
    __shared__ float left[16][17], right[16][17];
    const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
    const int other = blockIdx.x * 16 + threadIdx.y;
    float sum = column < columns ? bias[column] : 0.0f;
    for (int start = 0; start < depth; start += 16) {
        const int k = start + threadIdx.x;
        left[threadIdx.y][threadIdx.x] = row < rows && k < depth ? x[row * depth + k] : 0.0f;
        right[threadIdx.y][threadIdx.x] = other < columns && k < depth ? weight[other * depth + k] : 0.0f;
        __syncthreads();
        for (int i = 0; i < 16; ++i) sum += left[threadIdx.y][i] * right[threadIdx.x][i];
        __syncthreads();
    }
    if (row < rows && column < columns) y[row * columns + column] = sum > 0.0f ? sum : 0.0f;
}

torch::Tensor linear_relu(torch::Tensor x, torch::Tensor weight, torch::Tensor bias) {
    const int rows = x.size(0), depth = x.size(1), columns = weight.size(0);
    auto y = torch::empty({rows, columns}, x.options());
    linear_kernel<<<dim3((columns + 15) / 16, (rows + 15) / 16), dim3(16, 16), 0, at::cuda::getCurrentCUDAStream()>>>(
        x.data_ptr<float>(), weight.data_ptr<float>(), bias.data_ptr<float>(), y.data_ptr<float>(), rows, columns, depth);
    return y;
}
"""

extension = load_inline(
    name="linear_relu_fused",
    cpp_sources="torch::Tensor linear_relu(torch::Tensor x, torch::Tensor weight, torch::Tensor bias);",
    cuda_sources=CUDA,
    functions=["linear_relu"],
)


class ModelNew(nn.Module):
    def __init__(self, depth, columns):
        super().__init__()
        self.linear = nn.Linear(depth, columns)

    def forward(self, x):
        return extension.linear_relu(x, self.linear.weight, self.linear.bias)
