import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA = """
#include <ATen/cuda/CUDAContext.h>
#include <torch/types.h>

constexpr int kParts = 4;

__global__ void sum_kernel(const float* x, volatile float* parts, unsigned* arrived, float* y, int64_t columns) {
    __shared__ float sums[128];
    const int64_t first = columns * blockIdx.x / kParts, last = columns * (blockIdx.x + 1) / kParts;
    float sum = 0.0f;
    for (int64_t i = first + threadIdx.x; i < last; i += 128) sum += x[blockIdx.y * columns + i];
    sums[threadIdx.x] = sum;
    __syncthreads();
    for (int half = 64; half > 0; half /= 2) {
        if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        parts[blockIdx.y * kParts + blockIdx.x] = sums[0];
        __threadfence();
        if (atomicInc(arrived + blockIdx.y, kParts - 1) == kParts - 1) {
            float total = 0.0f;
            for (int part = 0; part < kParts; ++part) total += parts[blockIdx.y * kParts + part];
            y[blockIdx.y] = total;
        }
    }
}

torch::Tensor row_sum(torch::Tensor x, torch::Tensor arrived) {
    const int64_t rows = x.size(0);
    auto y = torch::empty({rows}, x.options()), parts = torch::empty({rows, kParts}, x.options());
    sum_kernel<<<dim3(kParts, rows), 128, 0, at::cuda::getCurrentCUDAStream()>>>(
        x.data_ptr<float>(), parts.data_ptr<float>(), reinterpret_cast<unsigned*>(arrived.data_ptr<int>()),
        y.data_ptr<float>(), x.size(1));
    return y;
}
"""

extension = load_inline(
    name="row_sum_last_block_finishes",
    cpp_sources="torch::Tensor row_sum(torch::Tensor x, torch::Tensor arrived);",
    cuda_sources=CUDA,
    functions=["row_sum"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.arrived = {}

    def forward(self, x):
        if x.shape not in self.arrived:
            self.arrived[x.shape] = torch.zeros(x.shape[0], dtype=torch.int32, device=x.device)
        return extension.row_sum(x, self.arrived[x.shape])
