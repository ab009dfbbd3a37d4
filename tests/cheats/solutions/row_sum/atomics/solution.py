import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA = """
#include <ATen/cuda/CUDAContext.h>
#include <torch/types.h>

__global__ void sum_kernel(const float* x, float* y, int64_t columns) {
    __shared__ float total;
    if (threadIdx.x == 0) total = 0.0f;
    __syncthreads();
    float sum = 0.0f;
    const int64_t stride = int64_t(gridDim.x) * blockDim.x;
    for (int64_t i = blockIdx.x * blockDim.x + threadIdx.x; i < columns; i += stride) sum += x[blockIdx.y * columns + i];
    atomicAdd(&total, sum);
    __syncthreads();
    if (threadIdx.x == 0) atomicAdd(y + blockIdx.y, total);
}

torch::Tensor row_sum(torch::Tensor x) {
    auto y = torch::zeros({x.size(0)}, x.options());
    sum_kernel<<<dim3(4, x.size(0)), 128, 0, at::cuda::getCurrentCUDAStream()>>>(
        x.data_ptr<float>(), y.data_ptr<float>(), x.size(1));
    return y;
}
"""

extension = load_inline(
    name="row_sum_atomics",
    cpp_sources="torch::Tensor row_sum(torch::Tensor x);",
    cuda_sources=CUDA,
    functions=["row_sum"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        return extension.row_sum(x)
