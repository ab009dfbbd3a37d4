"""Layer norm, a block per row, in three passes: the mean, the variance, the outputs."""

import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

CPP_SOURCE = """
torch::Tensor layer_norm(torch::Tensor x, torch::Tensor weight, torch::Tensor bias, double eps);
"""

CUDA_SOURCE = r"""
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda_bf16.h>
#include <torch/types.h>

constexpr int kThreads = 256;

// The sum of a block's values; every thread gets it.
__device__ float block_sum(float value)
{
    __shared__ float parts[kThreads];
    __syncthreads();
    parts[threadIdx.x] = value;
    __syncthreads();
    for (int width = kThreads / 2; width > 0; width /= 2) {
        if (threadIdx.x < width) parts[threadIdx.x] += parts[threadIdx.x + width];
        __syncthreads();
    }
    return parts[0];
}

__global__ void layer_norm_kernel(
    const __nv_bfloat16* __restrict__ x, const __nv_bfloat16* __restrict__ weight,
    const __nv_bfloat16* __restrict__ bias, __nv_bfloat16* __restrict__ y, int width, float eps)
{
    x += static_cast<int64_t>(blockIdx.x) * width;
    y += static_cast<int64_t>(blockIdx.x) * width;

    float sum = 0.0f;
    for (int i = threadIdx.x; i < width; i += kThreads) sum += __bfloat162float(x[i]);
    const float mean = block_sum(sum) / width;

    float squares = 0.0f;
    for (int i = threadIdx.x; i < width; i += kThreads) {
        const float difference = __bfloat162float(x[i]) - mean;
        squares += difference * difference;
    }
    const float factor = rsqrtf(block_sum(squares) / width + eps);

    for (int i = threadIdx.x; i < width; i += kThreads) {
        const float normal = (__bfloat162float(x[i]) - mean) * factor;
        y[i] = __float2bfloat16_rn(normal * __bfloat162float(weight[i]) + __bfloat162float(bias[i]));
    }
}

torch::Tensor layer_norm(torch::Tensor x, torch::Tensor weight, torch::Tensor bias, double eps)
{
    const c10::cuda::CUDAGuard guard(x.device());
    x = x.contiguous();
    auto y = torch::empty_like(x);
    // torch's bfloat16 and CUDA's have the same 16 bits.
    layer_norm_kernel<<<x.size(0), kThreads, 0, c10::cuda::getCurrentCUDAStream()>>>(
        reinterpret_cast<const __nv_bfloat16*>(x.data_ptr<at::BFloat16>()),
        reinterpret_cast<const __nv_bfloat16*>(weight.data_ptr<at::BFloat16>()),
        reinterpret_cast<const __nv_bfloat16*>(bias.data_ptr<at::BFloat16>()),
        reinterpret_cast<__nv_bfloat16*>(y.data_ptr<at::BFloat16>()), x.size(1), eps);
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return y;
}
"""

extension = load_inline(
    name="layer_norm_plain",
    cpp_sources=CPP_SOURCE,
    cuda_sources=CUDA_SOURCE,
    functions=["layer_norm"],
    extra_cuda_cflags=["-O3"],
)


class ModelNew(nn.Module):
    """Layer norm by the kernel above, for bfloat16 matrices; its parameters have the names of Model's."""

    def __init__(self, width: int, eps: float) -> None:
        super().__init__()
        self.weight = nn.Parameter((torch.rand(width) + 0.5).to(torch.bfloat16))
        self.bias = nn.Parameter(torch.randn(width).to(torch.bfloat16))
        self.eps = eps

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return extension.layer_norm(x, self.weight, self.bias, self.eps)
