"""Softmax, a block per row that is read once into registers and written once; longer rows are read twice."""

import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

CPP_SOURCE = "torch::Tensor row_softmax(torch::Tensor x);"

CUDA_SOURCE = r"""
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <torch/types.h>

#include <cmath>
#include <cstdint>

constexpr int kThreads = 512;
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

// Rows that fit in a block's registers: each thread holds kQuads float4, a block's width apart. All loads are on their
// way before the first is used. No other block needs what this one reads and writes, so it may leave the caches first.
template <int kQuads>
__global__ void __launch_bounds__(kThreads) row_in_registers_kernel(
    const float* __restrict__ x, float* __restrict__ y, int columns)
{
    __shared__ float largest_parts[kWarps];
    __shared__ float sum_parts[kWarps];
    const int quads = columns / 4;
    const int64_t row = static_cast<int64_t>(blockIdx.x) * columns;
    const float4* from = reinterpret_cast<const float4*>(x + row);
    float4* to = reinterpret_cast<float4*>(y + row);

    float4 values[kQuads];
    #pragma unroll
    for (int k = 0; k < kQuads; ++k) {
        const int quad = k * kThreads + threadIdx.x;
        // Beyond the row is minus infinity, whose power is 0.
        values[k] = quad < quads ? __ldcs(from + quad) : make_float4(-INFINITY, -INFINITY, -INFINITY, -INFINITY);
    }

    // fmaxf drops a NaN, but the sum keeps it: the whole row becomes NaN, as torch's does.
    float largest = -INFINITY;
    #pragma unroll
    for (int k = 0; k < kQuads; ++k) {
        const float4 v = values[k];
        largest = fmaxf(largest, fmaxf(fmaxf(v.x, v.y), fmaxf(v.z, v.w)));
    }
    largest = of_block(largest, largest_parts, Larger());

    float sum = 0.0f;
    #pragma unroll
    for (int k = 0; k < kQuads; ++k) {
        float4& v = values[k];
        v = make_float4(__expf(v.x - largest), __expf(v.y - largest), __expf(v.z - largest), __expf(v.w - largest));
        sum += (v.x + v.y) + (v.z + v.w);
    }
    const float factor = 1.0f / of_block(sum, sum_parts, Sum());

    #pragma unroll
    for (int k = 0; k < kQuads; ++k) {
        const int quad = k * kThreads + threadIdx.x;
        const float4 v = values[k];
        if (quad < quads) __stcs(to + quad, make_float4(v.x * factor, v.y * factor, v.z * factor, v.w * factor));
    }
}

// All other rows, of any length and alignment: read twice, the second time from the caches if they hold the row.

// What a thread, and then a block, knows of a row: its largest element and the sum of exp(x - largest).
struct Powers {
    float largest = -INFINITY;
    float sum = 0.0f;
};

// A sum of powers below another largest element. Where its own is still minus infinity, it is zero or NaN, and stays.
__device__ __forceinline__ float below(const Powers& powers, float largest)
{
    return powers.largest == -INFINITY ? powers.sum : powers.sum * __expf(powers.largest - largest);
}

__global__ void __launch_bounds__(kThreads) long_row_kernel(
    const float* __restrict__ x, float* __restrict__ y, int64_t columns)
{
    __shared__ float largest_parts[kWarps];
    __shared__ float sum_parts[kWarps];
    x += blockIdx.x * columns;
    y += blockIdx.x * columns;

    Powers powers;
    for (int64_t i = threadIdx.x; i < columns; i += kThreads) {
        const float value = x[i];
        const float largest = fmaxf(powers.largest, value);
        // Minus infinity less itself would be NaN: as long as there is nothing else, the power is 0.
        const float power = value == -INFINITY ? 0.0f : __expf(value - largest);
        powers.sum = below(powers, largest) + power;
        powers.largest = largest;
    }
    const float largest = of_block(powers.largest, largest_parts, Larger());
    const float factor = 1.0f / of_block(below(powers, largest), sum_parts, Sum());
    for (int64_t i = threadIdx.x; i < columns; i += kThreads) y[i] = __expf(x[i] - largest) * factor;
}

template <int kQuads>
void launch_row_in_registers(const float* x, float* y, int64_t rows, int64_t columns, cudaStream_t stream)
{
    row_in_registers_kernel<kQuads><<<rows, kThreads, 0, stream>>>(x, y, columns);
}

void launch_long_row(const float* x, float* y, int64_t rows, int64_t columns, cudaStream_t stream)
{
    long_row_kernel<<<rows, kThreads, 0, stream>>>(x, y, columns);
}

// The kernel with the fewest registers that hold a row.
auto kernel_for(int64_t columns, bool aligned)
{
    const int64_t per_quad = kThreads * 4;
    if (!aligned || columns > 8 * per_quad) return launch_long_row;
    if (columns > 4 * per_quad) return launch_row_in_registers<8>;
    if (columns > 2 * per_quad) return launch_row_in_registers<4>;
    if (columns > per_quad) return launch_row_in_registers<2>;
    return launch_row_in_registers<1>;
}

torch::Tensor row_softmax(torch::Tensor x)
{
    const c10::cuda::CUDAGuard guard(x.device());
    x = x.contiguous();
    auto y = torch::empty_like(x);
    const float* from = x.data_ptr<float>();
    const bool aligned = x.size(1) % 4 == 0 && reinterpret_cast<uintptr_t>(from) % 16 == 0;
    const auto launch = kernel_for(x.size(1), aligned);
    launch(from, y.data_ptr<float>(), x.size(0), x.size(1), c10::cuda::getCurrentCUDAStream());
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return y;
}
"""

extension = load_inline(
    name="row_softmax_row_in_registers",
    cpp_sources=CPP_SOURCE,
    cuda_sources=CUDA_SOURCE,
    functions=["row_softmax"],
    extra_cuda_cflags=["-O3"],
)


class ModelNew(nn.Module):
    """Softmax over the columns by the kernels above, for float32 matrices."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return extension.row_softmax(x)
