"""Cross-entropy, a block per row that is read once: the sum of powers is rescaled as the largest logit grows."""

import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

CPP_SOURCE = "torch::Tensor cross_entropy(torch::Tensor logits, torch::Tensor targets);"

CUDA_SOURCE = r"""
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <torch/types.h>

#include <cmath>
#include <cstdint>

constexpr int kThreads = 512;
constexpr int kQuads = 4;  // float4 that a thread has on their way at a time
constexpr int kWarpSize = 32;
constexpr int kWarps = kThreads / kWarpSize;
constexpr unsigned kAllLanes = 0xffffffffu;

struct Larger {
    __device__ float operator()(float a, float b) const { return fmaxf(a, b); }
};

struct Sum {
    __device__ float operator()(float a, float b) const { return a + b; }
};

// The values of `lanes` neighbouring lanes become one; all of them get it.
template <int lanes, typename Combine>
__device__ __forceinline__ float of_lanes(float value, Combine combine)
{
    #pragma unroll
    for (int step = lanes / 2; step > 0; step /= 2) value = combine(value, __shfl_xor_sync(kAllLanes, value, step));
    return value;
}

// A block's values become one; every thread gets it. One barrier: each warp combines the parts of all warps for itself.
// Two calls must not share `parts`, since nothing waits for the last reader.
template <typename Combine>
__device__ __forceinline__ float of_block(float value, float (&parts)[kWarps], Combine combine)
{
    value = of_lanes<kWarpSize>(value, combine);
    if (threadIdx.x % kWarpSize == 0) parts[threadIdx.x / kWarpSize] = value;
    __syncthreads();
    return of_lanes<kWarps>(parts[threadIdx.x % kWarps], combine);
}

// What a thread knows of its logits so far: the largest, and the sum of exp(logit - largest).
struct Powers {
    float largest = -INFINITY;
    float sum = 0.0f;
};

// What powers are taken below. Minus infinity less itself would be NaN: as long as there is no other logit, 0 does it.
__device__ __forceinline__ float base_of(float largest)
{
    return largest == -INFINITY ? 0.0f : largest;
}

// The sum, had it been taken below another base.
__device__ __forceinline__ float sum_below(const Powers& powers, float base)
{
    return powers.sum * __expf(powers.largest - base);
}

// One power more than logits: a single rescaling serves all of them. fmaxf drops a NaN, but the sum keeps it.
__device__ __forceinline__ void add(Powers& powers, const float4 (&logits)[kQuads])
{
    float largest = powers.largest;
    #pragma unroll
    for (const float4& v : logits) largest = fmaxf(largest, fmaxf(fmaxf(v.x, v.y), fmaxf(v.z, v.w)));
    const float base = base_of(largest);
    float sum = sum_below(powers, base);
    #pragma unroll
    for (const float4& v : logits) {
        sum += (__expf(v.x - base) + __expf(v.y - base)) + (__expf(v.z - base) + __expf(v.w - base));
    }
    powers = {largest, sum};
}

__device__ __forceinline__ void add(Powers& powers, float logit)
{
    const float largest = fmaxf(powers.largest, logit);
    const float base = base_of(largest);
    powers = {largest, sum_below(powers, base) + __expf(logit - base)};
}

__global__ void __launch_bounds__(kThreads) cross_entropy_kernel(
    const float* __restrict__ logits, const int64_t* __restrict__ targets, float* __restrict__ losses, int vocabulary)
{
    __shared__ float largest_parts[kWarps];
    __shared__ float sum_parts[kWarps];
    logits += static_cast<int64_t>(blockIdx.x) * vocabulary;
    // Asked for early: nobody waits for it until the row ends.
    const float wanted = threadIdx.x == 0 ? logits[targets[blockIdx.x]] : 0.0f;

    // A row begins at a multiple of 4 bytes. The up to three logits before the first multiple of 16 go one by one, as
    // do those after the last.
    const int until_aligned = (16 - reinterpret_cast<uintptr_t>(logits) % 16) % 16 / sizeof(float);
    const int head = min(until_aligned, vocabulary);
    const int quads = (vocabulary - head) / 4;
    const int tail = head + quads * 4;
    const float4* from = reinterpret_cast<const float4*>(logits + head);

    Powers powers;
    if (threadIdx.x < head) add(powers, logits[threadIdx.x]);
    for (int first = threadIdx.x; first < quads; first += kQuads * kThreads) {
        // All on their way before the first is used. Nobody reads them again, so they may leave the caches first.
        float4 values[kQuads];
        #pragma unroll
        for (int k = 0; k < kQuads; ++k) {
            const int quad = first + k * kThreads;
            // Beyond the row is minus infinity, whose power is 0.
            values[k] = quad < quads ? __ldcs(from + quad) : make_float4(-INFINITY, -INFINITY, -INFINITY, -INFINITY);
        }
        add(powers, values);
    }
    if (threadIdx.x < vocabulary - tail) add(powers, logits[tail + threadIdx.x]);

    const float largest = of_block(powers.largest, largest_parts, Larger());
    const float sum = of_block(sum_below(powers, base_of(largest)), sum_parts, Sum());
    // Large logits nearly cancel, so they go first, before the logarithm is rounded to their size.
    if (threadIdx.x == 0) losses[blockIdx.x] = (largest - wanted) + logf(sum);
}

torch::Tensor cross_entropy(torch::Tensor logits, torch::Tensor targets)
{
    const c10::cuda::CUDAGuard guard(logits.device());
    logits = logits.contiguous();
    targets = targets.contiguous();
    auto losses = torch::empty({logits.size(0)}, logits.options());
    cross_entropy_kernel<<<logits.size(0), kThreads, 0, c10::cuda::getCurrentCUDAStream()>>>(
        logits.data_ptr<float>(), targets.data_ptr<int64_t>(), losses.data_ptr<float>(), logits.size(1));
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return losses;
}
"""

extension = load_inline(
    name="cross_entropy_one_pass",
    cpp_sources=CPP_SOURCE,
    cuda_sources=CUDA_SOURCE,
    functions=["cross_entropy"],
    extra_cuda_cflags=["-O3"],
)


class ModelNew(nn.Module):
    """Cross-entropy of each row by the kernel above, for float32 logits and int64 targets."""

    def forward(self, logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        return extension.cross_entropy(logits, targets)
