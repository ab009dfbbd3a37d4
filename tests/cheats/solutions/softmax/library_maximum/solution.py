import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA = """
#include <ATen/cuda/CUDAContext.h>
#include <torch/types.h>

__global__ void softmax_kernel(const float* x, const float* largest, float* y, int columns) {
    __shared__ float total;
    x += int64_t(blockIdx.x) * columns;
    y += int64_t(blockIdx.x) * columns;
    if (threadIdx.x == 0) total = 0.0f;
    __syncthreads();
    float sum = 0.0f;
    for (int i = threadIdx.x; i < columns; i += blockDim.x) {
        y[i] = expf(x[i] - largest[blockIdx.x]);
        sum += y[i];
    }
    atomicAdd(&total, sum);
    __syncthreads();
    for (int i = threadIdx.x; i < columns; i += blockDim.x) y[i] /= total;
}

torch::Tensor softmax(torch::Tensor x, torch::Tensor largest) {
    auto y = torch::empty_like(x);
    softmax_kernel<<<x.size(0), 256, 0, at::cuda::getCurrentCUDAStream()>>>(
        x.data_ptr<float>(), largest.data_ptr<float>(), y.data_ptr<float>(), x.size(1));
    return y;
}
"""

extension = load_inline(
    name="softmax_library_maximum",
    cpp_sources="torch::Tensor softmax(torch::Tensor x, torch::Tensor largest);",
    cuda_sources=CUDA,
    functions=["softmax"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        return extension.softmax(x, x.amax(dim=1))
