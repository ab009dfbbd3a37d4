import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA = """
#include <ATen/cuda/CUDAContext.h>
#include <torch/types.h>

struct Swish {
    __device__ float operator()(float value) const { return value * (1.0f / (1.0f + expf(-value))); }
};

template <int kEach, typename Function>
__global__ void __launch_bounds__(128) map_kernel(const float* x, float* y, int64_t n, Function function) {
    const int64_t first = int64_t(blockIdx.x) * blockDim.x * kEach + threadIdx.x;
#pragma unroll
    for (int each = 0; each < kEach; ++each) {
        const int64_t i = first + each * blockDim.x;
        if (i < n) y[i] = function(x[i]);
    }
}

torch::Tensor swish(torch::Tensor x) {
    auto y = torch::empty_like(x);
    const int64_t n = x.numel();
    map_kernel<4><<<(n + 511) / 512, 128, 0, at::cuda::getCurrentCUDAStream()>>>(
        x.data_ptr<float>(), y.data_ptr<float>(), n, Swish());
    return y;
}
"""

extension = load_inline(
    name="swish_functor_and_unrolling",
    cpp_sources="torch::Tensor swish(torch::Tensor x);",
    cuda_sources=CUDA,
    functions=["swish"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        return extension.swish(x)
