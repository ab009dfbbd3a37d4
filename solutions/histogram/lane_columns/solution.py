"""A histogram, counted in shared memory with counters of its own for each lane of a warp."""

import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

CPP_SOURCE = """
torch::Tensor histogram(torch::Tensor x, int64_t bins);
"""

CUDA_SOURCE = r"""
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <torch/types.h>

#include <algorithm>
#include <climits>
#include <cstdint>

constexpr int kThreads = 1024;
constexpr int kBlocksPerProcessor = 2;  // of 1024 threads each: as many as an SM holds
constexpr int kVectors = 2;             // loads of a thread that are under way at the same time
constexpr int kLanes = 32;
constexpr int64_t kSharedCounters = 48 * 1024 / sizeof(unsigned);  // what a block gets without asking for more

using Counter = unsigned long long;  // the 64-bit type that atomicAdd knows

// Calls add(value) for every element, shared among all threads of the launch.
template <typename Add>
__device__ void for_each_value(const int* __restrict__ x, int64_t count, Add add)
{
    const int64_t thread = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
    const int64_t threads = static_cast<int64_t>(gridDim.x) * kThreads;

    // Up to the first address that is a multiple of 16, and again behind the last whole vector: one at a time.
    const int64_t misaligned = reinterpret_cast<uintptr_t>(x) / sizeof(int) % 4;
    const int64_t head = min(count, (4 - misaligned) % 4);
    const int64_t vectors = (count - head) / 4;
    if (thread < head) add(x[thread]);
    const int64_t tail = head + vectors * 4;
    if (thread < count - tail) add(x[tail + thread]);

    const int4* v = reinterpret_cast<const int4*>(x + head);
    int64_t i = thread;
    for (; i + (kVectors - 1) * threads < vectors; i += kVectors * threads) {
        int4 values[kVectors];
#pragma unroll
        for (int k = 0; k < kVectors; ++k) values[k] = __ldcs(v + i + k * threads);
#pragma unroll
        for (int k = 0; k < kVectors; ++k) add(values[k].x), add(values[k].y), add(values[k].z), add(values[k].w);
    }
    for (; i < vectors; i += threads) {
        const int4 value = __ldcs(v + i);
        add(value.x), add(value.y), add(value.z), add(value.w);
    }
}

// Bin b has `copies` counters side by side, b * copies and those behind it, and a lane adds to the one of its number
// modulo copies. With 32 copies each lane has a bank of shared memory to itself: whatever the values are, the 32
// additions of a warp meet neither in a bank nor in a counter.
__global__ void __launch_bounds__(kThreads, kBlocksPerProcessor) shared_kernel(
    const int* __restrict__ x, Counter* __restrict__ counts, int64_t count, int bins, int copies)
{
    extern __shared__ unsigned counters[];  // [bins][copies]
    for (int i = threadIdx.x; i < bins * copies; i += kThreads) counters[i] = 0;
    __syncthreads();

    const int lane = threadIdx.x % copies;
    for_each_value(x, count, [&](int bin) { atomicAdd(counters + bin * copies + lane, 1u); });
    __syncthreads();

    // Neighbouring threads start at different copies, so that they read from different banks.
    for (int bin = threadIdx.x; bin < bins; bin += kThreads) {
        unsigned sum = 0;
        for (int k = 0; k < copies; ++k) sum += counters[bin * copies + (k + lane) % copies];
        if (sum != 0) atomicAdd(counts + bin, Counter(sum));
    }
}

// For more bins than fit in shared memory.
__global__ void __launch_bounds__(kThreads, kBlocksPerProcessor) global_kernel(
    const int* __restrict__ x, Counter* __restrict__ counts, int64_t count)
{
    for_each_value(x, count, [&](int bin) { atomicAdd(counts + bin, Counter(1)); });
}

torch::Tensor histogram(torch::Tensor x, int64_t bins)
{
    TORCH_CHECK(x.scalar_type() == torch::kInt32, "histogram: x must be int32, not ", x.scalar_type());
    const c10::cuda::CUDAGuard guard(x.device());
    const auto stream = c10::cuda::getCurrentCUDAStream();
    x = x.contiguous();
    auto counts = torch::zeros({bins}, x.options().dtype(torch::kInt64));
    const int64_t count = x.numel();
    if (count == 0) return counts;

    int processors = 0;
    C10_CUDA_CHECK(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, x.get_device()));
    // A block's counters have 32 bits: it must not see more elements than that.
    const int64_t least = count / INT_MAX + 1;
    const int64_t needed = (count + 4 * kThreads - 1) / (4 * kThreads);
    const int64_t most = std::max<int64_t>(least, kBlocksPerProcessor * processors);
    const int blocks = static_cast<int>(std::min(needed, most));

    const int* values = x.const_data_ptr<int>();
    Counter* result = reinterpret_cast<Counter*>(counts.mutable_data_ptr<int64_t>());
    if (bins <= kSharedCounters) {
        int copies = kLanes;
        while (bins * copies > kSharedCounters) copies /= 2;
        shared_kernel<<<blocks, kThreads, bins * copies * sizeof(unsigned), stream>>>(
            values, result, count, static_cast<int>(bins), copies);
    } else {
        global_kernel<<<blocks, kThreads, 0, stream>>>(values, result, count);
    }
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return counts;
}
"""

extension = load_inline(
    name="histogram_lane_columns",
    cpp_sources=CPP_SOURCE,
    cuda_sources=CUDA_SOURCE,
    functions=["histogram"],
    extra_cuda_cflags=["-O3"],
)


class ModelNew(nn.Module):
    """Counts the values from 0 to bins - 1 of an int32 tensor that holds no others."""

    def __init__(self, bins: int) -> None:
        super().__init__()
        self.bins = bins

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return extension.histogram(x, self.bins)
