"""Rotary embedding by 16-byte loads; a thread keeps its angles and walks over the heads."""

import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

CPP_SOURCE = "torch::Tensor rotate(torch::Tensor x, torch::Tensor cosines, torch::Tensor sines);"

CUDA_SOURCE = r"""
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda_bf16.h>
#include <torch/types.h>

#include <algorithm>
#include <cstdint>

constexpr int kThreads = 256;
constexpr int kHeadsOfAThread = 4;

// So many coordinates, neighbours in memory, that are loaded and stored by one instruction.
template <int kCount>
struct alignas(2 * kCount) Coordinates
{
    __nv_bfloat16 of[kCount];
};

// x: [heads, length, 2 * half] with the heads of the whole batch; cosines and sines: [length, half]. A thread turns
// kCount pairs of one position in heads blockIdx.y, blockIdx.y + gridDim.y, ...
template <int kCount>
__global__ void __launch_bounds__(kThreads) rotate_kernel(
    const __nv_bfloat16* __restrict__ x, const float* __restrict__ cosines, const float* __restrict__ sines,
    __nv_bfloat16* __restrict__ y, int heads, int length, int half)
{
    using Part = Coordinates<kCount>;
    const int64_t angle = (static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x) * kCount;
    if (angle >= static_cast<int64_t>(length) * half) return;
    float cosine[kCount], sine[kCount];
    for (int i = 0; i < kCount; ++i) cosine[i] = cosines[angle + i], sine[i] = sines[angle + i];
    const int64_t inside = angle / half * 2 * half + angle % half;
#pragma unroll 4
    for (int head = blockIdx.y; head < heads; head += gridDim.y) {
        const int64_t at = static_cast<int64_t>(head) * length * 2 * half + inside;
        Part first = *reinterpret_cast<const Part*>(x + at);
        Part second = *reinterpret_cast<const Part*>(x + at + half);
        for (int i = 0; i < kCount; ++i) {
            const float a = __bfloat162float(first.of[i]), b = __bfloat162float(second.of[i]);
            first.of[i] = __float2bfloat16_rn(a * cosine[i] - b * sine[i]);
            second.of[i] = __float2bfloat16_rn(b * cosine[i] + a * sine[i]);
        }
        *reinterpret_cast<Part*>(y + at) = first;
        *reinterpret_cast<Part*>(y + at + half) = second;
    }
}

template <int kCount>
void launch(const torch::Tensor& x, const torch::Tensor& cosines, const torch::Tensor& sines, torch::Tensor& y)
{
    const int heads = x.size(0) * x.size(1), length = x.size(2), half = x.size(3) / 2;
    const int64_t threads = static_cast<int64_t>(length) * half / kCount;
    const int shares = std::min(65535, (heads + kHeadsOfAThread - 1) / kHeadsOfAThread);
    const dim3 blocks((threads + kThreads - 1) / kThreads, shares);
    rotate_kernel<kCount><<<blocks, kThreads, 0, c10::cuda::getCurrentCUDAStream()>>>(
        reinterpret_cast<const __nv_bfloat16*>(x.data_ptr<at::BFloat16>()), cosines.data_ptr<float>(),
        sines.data_ptr<float>(), reinterpret_cast<__nv_bfloat16*>(y.data_ptr<at::BFloat16>()), heads, length, half);
    C10_CUDA_KERNEL_LAUNCH_CHECK();
}

torch::Tensor rotate(torch::Tensor x, torch::Tensor cosines, torch::Tensor sines)
{
    const c10::cuda::CUDAGuard guard(x.device());
    x = x.contiguous(), cosines = cosines.contiguous(), sines = sines.contiguous();
    auto y = torch::empty_like(x);
    if (x.size(3) % 16 == 0 && reinterpret_cast<uintptr_t>(x.data_ptr()) % 16 == 0) {
        launch<8>(x, cosines, sines, y);
    } else {
        launch<1>(x, cosines, sines, y);
    }
    return y;
}
"""

extension = load_inline(
    name="rotary_embedding_heads_together",
    cpp_sources=CPP_SOURCE,
    cuda_sources=CUDA_SOURCE,
    functions=["rotate"],
    extra_cuda_cflags=["-O3"],
)


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor, cosines: torch.Tensor, sines: torch.Tensor) -> torch.Tensor:
        return extension.rotate(x, cosines, sines)
