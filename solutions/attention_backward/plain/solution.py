"""Causal attention with its backward: a warp per query, then one per query again, then one per key."""

from typing import Any

import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

CPP_SOURCE = """
std::vector<torch::Tensor> attend(torch::Tensor q, torch::Tensor k, torch::Tensor v);
std::vector<torch::Tensor> attend_backward(
    torch::Tensor by_out, torch::Tensor q, torch::Tensor k, torch::Tensor v, torch::Tensor out, torch::Tensor totals);
"""

CUDA_SOURCE = r"""
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <torch/types.h>

#include <cmath>
#include <vector>

constexpr int kLanes = 32;
constexpr int kWarps = 4;
constexpr int kCoordinates = 4;  // of a lane, so that a head has up to 128

// A row of up to 128 coordinates, spread over the lanes of a warp.
struct Row
{
    float of[kCoordinates] = {};

    __device__ void load(const float* from, int dim)
    {
        for (int i = 0; i < kCoordinates; ++i) {
            const int c = threadIdx.x + i * kLanes;
            of[i] = c < dim ? from[c] : 0.0f;
        }
    }

    __device__ void store(float* to, int dim, float factor) const
    {
        for (int i = 0; i < kCoordinates; ++i) {
            const int c = threadIdx.x + i * kLanes;
            if (c < dim) to[c] = factor * of[i];
        }
    }

    __device__ void add(float weight, const Row& other)
    {
        for (int i = 0; i < kCoordinates; ++i) of[i] += weight * other.of[i];
    }

    // Every lane gets the product.
    __device__ float times(const Row& other) const
    {
        float sum = 0.0f;
        for (int i = 0; i < kCoordinates; ++i) sum += of[i] * other.of[i];
        for (int distance = kLanes / 2; distance > 0; distance /= 2) sum += __shfl_xor_sync(~0u, sum, distance);
        return sum;
    }
};

__device__ int64_t row_of_warp()
{
    return static_cast<int64_t>(blockIdx.x) * kWarps + threadIdx.y;
}

// All tensors are [heads of all, length, dim], and totals [heads of all, length]: log(sum(exp(scores))) of each query.
__global__ void forward_kernel(
    const float* __restrict__ q, const float* __restrict__ k, const float* __restrict__ v, float* __restrict__ out,
    float* __restrict__ totals, int64_t rows, int length, int dim, float scale)
{
    const int64_t at = row_of_warp();
    if (at >= rows) return;  // the whole warp
    const int64_t first = at - at % length;
    Row query, key, value, sums;
    query.load(q + at * dim, dim);
    float largest = -INFINITY, total = 0.0f;
    for (int64_t j = first; j <= at; ++j) {
        key.load(k + j * dim, dim);
        value.load(v + j * dim, dim);
        const float score = scale * query.times(key);
        const float now = fmaxf(largest, score);
        const float base = now == -INFINITY ? 0.0f : now;  // two infinities have no difference
        const float shrink = expf(largest - base), weight = expf(score - base);
        total = total * shrink + weight;
        for (float& sum : sums.of) sum *= shrink;
        sums.add(weight, value);
        largest = now;
    }
    sums.store(out + at * dim, dim, 1 / total);
    if (threadIdx.x == 0) totals[at] = largest + logf(total);
}

// A query's gradient, and alongs: by_out * out, which each of its scores' gradients needs.
__global__ void by_query_kernel(
    const float* __restrict__ by_out, const float* __restrict__ q, const float* __restrict__ k,
    const float* __restrict__ v, const float* __restrict__ out, const float* __restrict__ totals,
    float* __restrict__ alongs, float* __restrict__ by_q, int64_t rows, int length, int dim, float scale)
{
    const int64_t at = row_of_warp();
    if (at >= rows) return;
    const int64_t first = at - at % length;
    Row query, by, key, value, sums;
    query.load(q + at * dim, dim);
    by.load(by_out + at * dim, dim);
    value.load(out + at * dim, dim);
    const float along = by.times(value);
    for (int64_t j = first; j <= at; ++j) {
        key.load(k + j * dim, dim);
        value.load(v + j * dim, dim);
        const float weight = expf(scale * query.times(key) - totals[at]);
        sums.add(weight * (by.times(value) - along), key);
    }
    sums.store(by_q + at * dim, dim, scale);
    if (threadIdx.x == 0) alongs[at] = along;
}

__global__ void by_key_kernel(
    const float* __restrict__ by_out, const float* __restrict__ q, const float* __restrict__ k,
    const float* __restrict__ v, const float* __restrict__ totals, const float* __restrict__ alongs,
    float* __restrict__ by_k, float* __restrict__ by_v, int64_t rows, int length, int dim, float scale)
{
    const int64_t at = row_of_warp();
    if (at >= rows) return;
    const int64_t end = at - at % length + length;
    Row key, value, query, by, sums_of_key, sums_of_value;
    key.load(k + at * dim, dim);
    value.load(v + at * dim, dim);
    for (int64_t i = at; i < end; ++i) {
        query.load(q + i * dim, dim);
        by.load(by_out + i * dim, dim);
        const float weight = expf(scale * query.times(key) - totals[i]);
        sums_of_value.add(weight, by);
        sums_of_key.add(weight * (by.times(value) - alongs[i]), query);
    }
    sums_of_key.store(by_k + at * dim, dim, scale);
    sums_of_value.store(by_v + at * dim, dim, 1.0f);
}

struct Shape
{
    explicit Shape(const torch::Tensor& q)
        : rows(q.size(0) * q.size(1) * q.size(2)), length(q.size(2)), dim(q.size(3)),
          scale(1 / std::sqrt(static_cast<float>(dim))), blocks((rows + kWarps - 1) / kWarps), threads(kLanes, kWarps)
    {
        TORCH_CHECK(dim <= kLanes * kCoordinates, "a head has up to ", kLanes * kCoordinates, " coordinates");
    }

    int64_t rows;
    int length, dim;
    float scale;
    dim3 blocks, threads;
};

std::vector<torch::Tensor> attend(torch::Tensor q, torch::Tensor k, torch::Tensor v)
{
    const c10::cuda::CUDAGuard guard(q.device());
    const Shape shape(q);
    auto out = torch::empty_like(q);
    auto totals = torch::empty({shape.rows}, q.options());
    forward_kernel<<<shape.blocks, shape.threads, 0, c10::cuda::getCurrentCUDAStream()>>>(
        q.data_ptr<float>(), k.data_ptr<float>(), v.data_ptr<float>(), out.data_ptr<float>(),
        totals.data_ptr<float>(), shape.rows, shape.length, shape.dim, shape.scale);
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return {out, totals};
}

std::vector<torch::Tensor> attend_backward(
    torch::Tensor by_out, torch::Tensor q, torch::Tensor k, torch::Tensor v, torch::Tensor out, torch::Tensor totals)
{
    const c10::cuda::CUDAGuard guard(q.device());
    const auto stream = c10::cuda::getCurrentCUDAStream();
    const Shape shape(q);
    auto by_q = torch::empty_like(q), by_k = torch::empty_like(k), by_v = torch::empty_like(v);
    auto alongs = torch::empty_like(totals);
    by_query_kernel<<<shape.blocks, shape.threads, 0, stream>>>(
        by_out.data_ptr<float>(), q.data_ptr<float>(), k.data_ptr<float>(), v.data_ptr<float>(), out.data_ptr<float>(),
        totals.data_ptr<float>(), alongs.data_ptr<float>(), by_q.data_ptr<float>(), shape.rows, shape.length, shape.dim,
        shape.scale);
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    by_key_kernel<<<shape.blocks, shape.threads, 0, stream>>>(
        by_out.data_ptr<float>(), q.data_ptr<float>(), k.data_ptr<float>(), v.data_ptr<float>(),
        totals.data_ptr<float>(), alongs.data_ptr<float>(), by_k.data_ptr<float>(), by_v.data_ptr<float>(), shape.rows,
        shape.length, shape.dim, shape.scale);
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return {by_q, by_k, by_v};
}
"""

extension = load_inline(
    name="attention_backward_plain",
    cpp_sources=CPP_SOURCE,
    cuda_sources=CUDA_SOURCE,
    functions=["attend", "attend_backward"],
    extra_cuda_cflags=["-O3"],
)


class Attention(torch.autograd.Function):
    """What the backward needs is kept: queries, keys, values, the output and a number per query."""

    @staticmethod
    def forward(context: Any, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        q, k, v = q.contiguous(), k.contiguous(), v.contiguous()
        out, totals = extension.attend(q, k, v)
        context.save_for_backward(q, k, v, out, totals)
        return out

    @staticmethod
    def backward(context: Any, by_out: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return tuple(extension.attend_backward(by_out.contiguous(), *context.saved_tensors))


class ModelNew(nn.Module):
    def forward(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        return Attention.apply(q, k, v)
