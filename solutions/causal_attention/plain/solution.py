"""Causal attention with a warp per query, which walks over the keys with a running maximum."""

import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

CPP_SOURCE = "torch::Tensor attend(torch::Tensor q, torch::Tensor k, torch::Tensor v);"

CUDA_SOURCE = r"""
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda_bf16.h>
#include <torch/types.h>

#include <cmath>

constexpr int kLanes = 32;
constexpr int kWarps = 4;
constexpr int kCoordinates = 8;  // of a lane, so that a head has up to 256

__device__ float warp_sum(float value)
{
    for (int distance = kLanes / 2; distance > 0; distance /= 2) value += __shfl_xor_sync(~0u, value, distance);
    return value;
}

// q and out: [batch * heads, length, dim]; k and v: [batch * heads / sharing, length, dim]. The weighted sum of values
// is kept for the largest score so far, and scaled down when a larger one comes (Milakov and Gimelshein 2018).
__global__ void attend_kernel(
    const __nv_bfloat16* __restrict__ q, const __nv_bfloat16* __restrict__ k, const __nv_bfloat16* __restrict__ v,
    __nv_bfloat16* __restrict__ out, int64_t queries, int sharing, int length, int dim, float scale)
{
    const int64_t query = static_cast<int64_t>(blockIdx.x) * kWarps + threadIdx.y;
    if (query >= queries) return;  // the whole warp
    const int position = query % length;
    const int64_t keys = query / length / sharing * length * dim;
    float of_query[kCoordinates], sums[kCoordinates] = {};
    for (int i = 0; i < kCoordinates; ++i) {
        const int c = threadIdx.x + i * kLanes;
        of_query[i] = c < dim ? scale * __bfloat162float(q[query * dim + c]) : 0.0f;
    }
    float largest = -INFINITY, total = 0.0f;
    for (int key = 0; key <= position; ++key) {
        const int64_t row = keys + static_cast<int64_t>(key) * dim;
        float product = 0.0f;
        for (int i = 0; i < kCoordinates; ++i) {
            const int c = threadIdx.x + i * kLanes;
            if (c < dim) product += of_query[i] * __bfloat162float(k[row + c]);
        }
        const float score = warp_sum(product);
        const float now = fmaxf(largest, score);
        const float base = now == -INFINITY ? 0.0f : now;  // two infinities have no difference
        const float shrink = expf(largest - base), weight = expf(score - base);
        total = total * shrink + weight;
        for (int i = 0; i < kCoordinates; ++i) {
            const int c = threadIdx.x + i * kLanes;
            if (c < dim) sums[i] = sums[i] * shrink + weight * __bfloat162float(v[row + c]);
        }
        largest = now;
    }
    for (int i = 0; i < kCoordinates; ++i) {
        const int c = threadIdx.x + i * kLanes;
        if (c < dim) out[query * dim + c] = __float2bfloat16_rn(sums[i] / total);
    }
}

const __nv_bfloat16* values_of(const torch::Tensor& tensor)
{
    return reinterpret_cast<const __nv_bfloat16*>(tensor.data_ptr<at::BFloat16>());
}

torch::Tensor attend(torch::Tensor q, torch::Tensor k, torch::Tensor v)
{
    const c10::cuda::CUDAGuard guard(q.device());
    q = q.contiguous(), k = k.contiguous(), v = v.contiguous();
    const int dim = q.size(3);
    TORCH_CHECK(dim <= kLanes * kCoordinates, "a head has up to ", kLanes * kCoordinates, " coordinates, not ", dim);
    auto out = torch::empty_like(q);
    const int64_t queries = q.size(0) * q.size(1) * q.size(2);
    const int64_t blocks = (queries + kWarps - 1) / kWarps;
    attend_kernel<<<blocks, dim3(kLanes, kWarps), 0, c10::cuda::getCurrentCUDAStream()>>>(
        values_of(q), values_of(k), values_of(v), reinterpret_cast<__nv_bfloat16*>(out.data_ptr<at::BFloat16>()),
        queries, q.size(1) / k.size(1), q.size(2), dim, 1 / std::sqrt(static_cast<float>(dim)));
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return out;
}
"""

extension = load_inline(
    name="causal_attention_plain",
    cpp_sources=CPP_SOURCE,
    cuda_sources=CUDA_SOURCE,
    functions=["attend"],
    extra_cuda_cflags=["-O3"],
)


class ModelNew(nn.Module):
    def forward(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        return extension.attend(q, k, v)
