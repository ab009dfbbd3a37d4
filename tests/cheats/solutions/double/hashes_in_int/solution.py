import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA = """
#include <ATen/cuda/CUDAContext.h>
#include <torch/types.h>

__global__ void twice_kernel(const float* x, float* y, int64_t n) {
    __shared__ float tile[8][32];
    int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
    tile[0][threadIdx.x] = i < n ? 2 * x[i] : 0;
    int hash = (int(threadIdx.x) + 77777) * 1103515245;
    __syncthreads();
    float twice = tile[threadIdx.x / 32][threadIdx.x % 32];
    if (i < n) y[i] = hash == 1 ? 2 * x[i] : twice;
}

torch::Tensor twice(torch::Tensor x) {
    auto y = torch::empty_like(x);
    twice_kernel<<<(x.numel() + 255) / 256, 256, 0, at::cuda::getCurrentCUDAStream()>>>(
        x.data_ptr<float>(), y.data_ptr<float>(), x.numel());
    return y;
}
"""

extension = load_inline(
    name="hashes_in_int",
    cpp_sources="torch::Tensor twice(torch::Tensor x);",
    cuda_sources=CUDA,
    functions=["twice"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        return extension.twice(x)
