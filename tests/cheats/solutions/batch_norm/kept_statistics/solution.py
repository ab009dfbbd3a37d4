import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA = """
#include <ATen/cuda/CUDAContext.h>
#include <torch/types.h>

__global__ void batch_norm_kernel(
    const float* x, const float* mean, const float* variance, const float* weight, const float* bias, float* y,
    int64_t count, int channels, int pixels, float eps) {
    const int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i >= count) return;
    const int c = i / pixels % channels;
    y[i] = (x[i] - mean[c]) * rsqrtf(variance[c] + eps) * weight[c] + bias[c];
}

torch::Tensor batch_norm(
    torch::Tensor x, torch::Tensor mean, torch::Tensor variance, torch::Tensor weight, torch::Tensor bias, double eps) {
    auto y = torch::empty_like(x);
    batch_norm_kernel<<<(x.numel() + 255) / 256, 256, 0, at::cuda::getCurrentCUDAStream()>>>(
        x.data_ptr<float>(), mean.data_ptr<float>(), variance.data_ptr<float>(), weight.data_ptr<float>(),
        bias.data_ptr<float>(), y.data_ptr<float>(), x.numel(), x.size(1), x.size(2) * x.size(3), eps);
    return y;
}
"""

extension = load_inline(
    name="batch_norm_kept_statistics",
    cpp_sources="torch::Tensor batch_norm(torch::Tensor x, torch::Tensor mean, torch::Tensor variance, "
    "torch::Tensor weight, torch::Tensor bias, double eps);",
    cuda_sources=CUDA,
    functions=["batch_norm"],
)


class ModelNew(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.norm = nn.BatchNorm2d(channels)

    def forward(self, x):
        norm = self.norm
        return extension.batch_norm(x, norm.running_mean, norm.running_var, norm.weight, norm.bias, norm.eps)
