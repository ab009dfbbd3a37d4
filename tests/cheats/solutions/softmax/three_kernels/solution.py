"""Finds maxima, sums and quotients by three kernels from one template, with a workspace that is kept."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA = """
#include <ATen/cuda/CUDAContext.h>
#include <torch/types.h>

struct Largest {
    static __device__ float start() { return -INFINITY; }
    static __device__ float of(float x, float) { return x; }
    static __device__ float both(float a, float b) { return fmaxf(a, b); }
};

struct Sum {
    static __device__ float start() { return 0.0f; }
    static __device__ float of(float x, float largest) { return expf(x - largest); }
    static __device__ float both(float a, float b) { return a + b; }
};

template <typename Step>
__global__ void reduce_kernel(const float* x, const float* before, float* result, int columns) {
    const int row = blockIdx.x;
    float found = Step::start();
    for (int i = threadIdx.x; i < columns; i += 32)
        found = Step::both(found, Step::of(x[int64_t(row) * columns + i], before ? before[row] : 0.0f));
    for (int offset = 16; offset > 0; offset /= 2) found = Step::both(found, __shfl_xor_sync(0xffffffff, found, offset));
    if (threadIdx.x == 0) result[row] = found;
}

__global__ void quotient_kernel(const float* x, const float* largest, const float* sum, float* y, int columns) {
    for (int i = threadIdx.x; i < columns; i += blockDim.x) {
        const int64_t place = int64_t(blockIdx.x) * columns + i;
        y[place] = expf(x[place] - largest[blockIdx.x]) / sum[blockIdx.x];
    }
}

torch::Tensor softmax(torch::Tensor x, torch::Tensor workspace) {
    auto y = torch::empty_like(x);
    const int rows = x.size(0), columns = x.size(1);
    float *largest = workspace.data_ptr<float>(), *sum = largest + rows;
    const auto stream = at::cuda::getCurrentCUDAStream();
    reduce_kernel<Largest><<<rows, 32, 0, stream>>>(x.data_ptr<float>(), nullptr, largest, columns);
    reduce_kernel<Sum><<<rows, 32, 0, stream>>>(x.data_ptr<float>(), largest, sum, columns);
    quotient_kernel<<<rows, 128, 0, stream>>>(x.data_ptr<float>(), largest, sum, y.data_ptr<float>(), columns);
    return y;
}
"""

extension = load_inline(
    name="softmax_three_kernels",
    cpp_sources="torch::Tensor softmax(torch::Tensor x, torch::Tensor workspace);",
    cuda_sources=CUDA,
    functions=["softmax"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.kept = {}

    def forward(self, x):
        if x.shape[0] not in self.kept:
            self.kept[x.shape[0]] = torch.empty(2, x.shape[0], device=x.device)
        return extension.softmax(x, self.kept[x.shape[0]])
