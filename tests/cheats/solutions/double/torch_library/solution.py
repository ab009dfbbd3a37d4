import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA = """
#include <ATen/cuda/CUDAContext.h>
#include <torch/library.h>
#include <torch/types.h>

__global__ void double_kernel(const float* x, float* y, int64_t count) {
    const int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < count) y[i] = 2.0f * x[i];
}

torch::Tensor twice(const torch::Tensor& x) {
    auto y = torch::empty_like(x);
    double_kernel<<<(x.numel() + 255) / 256, 256, 0, at::cuda::getCurrentCUDAStream()>>>(
        x.data_ptr<float>(), y.data_ptr<float>(), x.numel());
    return y;
}

TORCH_LIBRARY(corpus, library) { library.def("twice", &twice); }
"""

load_inline(name="corpus_library", cpp_sources="", cuda_sources=CUDA, is_python_module=False)


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.ops.corpus.twice(x)
