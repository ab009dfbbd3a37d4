"""The k largest values of each row by radix select: a histogram of leading bits says which values to sort."""

import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

CPP_SOURCE = """
torch::Tensor top_k(torch::Tensor x, int64_t k);
"""

CUDA_SOURCE = r"""
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <torch/types.h>

#include <climits>
#include <cstdint>

constexpr int kLanes = 32;
constexpr unsigned kAllLanes = 0xffffffffu;
constexpr int kThreads = 1024;
constexpr int kWarps = kThreads / kLanes;
constexpr int kMostK = 256;
constexpr int kCandidates = 1024;    // what a block sorts in the end
constexpr int kVectors = 2;          // loads of a thread that are under way at the same time
constexpr int kDigitBits = 11;       // the 32 bits of a key are looked at in digits of 11, 11 and 10 bits
constexpr int kBins = 1 << kDigitBits;

struct Row {
    const float* x;
    int width;
    bool is_aligned;  // starts at a multiple of 16 bytes
};

// What is known of the k-th largest key of a row: its leading bits, down to the bit `shift`.
struct Threshold {
    unsigned prefix;
    int shift;
    int missing;  // how many of the k largest keys have this prefix; all larger keys are among the k
    int equal;    // how many keys have it
};

// A key is larger where the float is: NaN above infinity, and -0 equal to 0. No key is 0.
__device__ unsigned key_of(float value)
{
    if (value != value) return 0xffffffffu;
    const unsigned bits = value == 0.0f ? 0u : __float_as_uint(value);
    return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}

__device__ float value_of(unsigned key)
{
    return __uint_as_float(key & 0x80000000u ? key & 0x7fffffffu : ~key);
}

// Calls `visit` with the key of every element of the row, shared among the block's threads.
template <typename Visit>
__device__ void for_each_key(const Row& row, Visit visit)
{
    int done = 0;
    if (row.is_aligned) {
        const float4* vectors = reinterpret_cast<const float4*>(row.x);
        const int count = row.width / 4;
        int i = threadIdx.x;
        for (; i + (kVectors - 1) * kThreads < count; i += kVectors * kThreads) {
            float4 loaded[kVectors];
#pragma unroll
            for (int v = 0; v < kVectors; ++v) loaded[v] = vectors[i + v * kThreads];
#pragma unroll
            for (int v = 0; v < kVectors; ++v) {
                visit(key_of(loaded[v].x)), visit(key_of(loaded[v].y));
                visit(key_of(loaded[v].z)), visit(key_of(loaded[v].w));
            }
        }
        for (; i < count; i += kThreads) {
            const float4 vector = vectors[i];
            visit(key_of(vector.x)), visit(key_of(vector.y)), visit(key_of(vector.z)), visit(key_of(vector.w));
        }
        done = count * 4;
    }
    for (int i = done + threadIdx.x; i < row.width; i += kThreads) visit(key_of(row.x[i]));
}

// The sum of `value` over this thread and those before it.
__device__ int running_sum(int value, int* warp_sums)
{
    const int warp = threadIdx.x / kLanes, lane = threadIdx.x % kLanes;
    for (int covered = 1; covered < kLanes; covered *= 2) {
        const int left = __shfl_up_sync(kAllLanes, value, covered);
        if (lane >= covered) value += left;
    }
    if (lane == kLanes - 1) warp_sums[warp] = value;
    __syncthreads();
    for (int other = 0; other < warp; ++other) value += warp_sums[other];
    return value;
}

// Looks at the next digit of all keys that begin with the prefix, and so makes the prefix a digit longer.
__device__ void refine(const Row& row, Threshold* threshold, int* histogram, int* warp_sums)
{
    const Threshold known = *threshold;
    const int shift = max(0, known.shift - kDigitBits);
    const int bins = 1 << (known.shift - shift);
    for (int i = threadIdx.x; i < kBins; i += kThreads) histogram[i] = 0;
    __syncthreads();

    // nvcc 13 makes ATOMS.POPC.INC of this for sm_90: by its name it counts the lanes with one address, so that a busy
    // bin should not make them queue. That holds for an addition of 1 whose result nobody uses.
    for_each_key(row, [&](unsigned key) {
        const bool begins_so = known.shift == 32 || key >> known.shift == known.prefix;
        if (begins_so) atomicAdd(histogram + ((key >> shift) & (bins - 1)), 1);
    });
    __syncthreads();

    // Thread 0 has the two largest digits, thread 1 the next two, and so on.
    static_assert(kBins == 2 * kThreads);
    const int upper = kBins - 1 - 2 * threadIdx.x, lower = upper - 1;
    const int in_upper = histogram[upper], in_lower = histogram[lower];
    const int up_to_lower = running_sum(in_upper + in_lower, warp_sums);
    const int up_to_upper = up_to_lower - in_lower, above = up_to_upper - in_upper;
    // The k-th largest key is where the counts from the largest digit downwards reach what is missing.
    if (above < known.missing && known.missing <= up_to_lower) {
        const bool is_upper = known.missing <= up_to_upper;
        const unsigned digit = is_upper ? upper : lower;
        threshold->prefix = known.shift == 32 ? digit : known.prefix * bins + digit;
        threshold->shift = shift;
        threshold->missing = known.missing - (is_upper ? above : up_to_upper);
        threshold->equal = is_upper ? in_upper : in_lower;
    }
    __syncthreads();
}

// Sorts `count` keys in descending order, where count is a power of two (Batcher's bitonic sort).
__device__ void sort(unsigned* keys, int count)
{
    for (int length = 2; length <= count; length *= 2) {
        for (int distance = length / 2; distance > 0; distance /= 2) {
            const int i = threadIdx.x, partner = i ^ distance;
            if (i < count && partner > i) {
                const bool descends = (i & length) == 0;
                const unsigned one = keys[i], other = keys[partner];
                if ((one < other) == descends) {
                    keys[i] = other;
                    keys[partner] = one;
                }
            }
            __syncthreads();
        }
    }
}

__global__ void __launch_bounds__(kThreads, 2) top_k_kernel(
    const float* __restrict__ x, float* __restrict__ y, int width, int k, bool is_aligned)
{
    __shared__ int histogram[kBins];
    __shared__ int warp_sums[kWarps];
    __shared__ unsigned candidates[kCandidates];
    __shared__ Threshold threshold;
    __shared__ int found;

    const Row row{x + static_cast<int64_t>(blockIdx.x) * width, width, is_aligned};
    if (threadIdx.x == 0) {
        threshold = Threshold{0, 32, k, width};
        found = 0;
    }
    candidates[threadIdx.x] = 0;
    static_assert(kCandidates == kThreads);
    __syncthreads();

    // 1. Until few enough keys are left. One digit is nearly always enough, unless many values are equal.
    while (threshold.shift > 0 && k - threshold.missing + threshold.equal > kCandidates) {
        refine(row, &threshold, histogram, warp_sums);
    }

    // 2. Collect them: all keys above the prefix, and those with it. If these are still too many, all their bits are
    //    known, and they are equal: then as many as are missing are written without a look at the row.
    const Threshold known = threshold;
    const bool are_all_kept = k - known.missing + known.equal <= kCandidates;
    const unsigned least = are_all_kept ? known.prefix : known.prefix + 1;
    for_each_key(row, [&](unsigned key) {
        const bool is_kept = known.shift == 32 || (key >> known.shift >= least && (are_all_kept || least != 0));
        if (is_kept) candidates[atomicAdd(&found, 1)] = key;
    });
    __syncthreads();
    int count = found;
    if (!are_all_kept) {
        if (threadIdx.x < known.missing) candidates[count + threadIdx.x] = known.prefix;
        count = k;
        __syncthreads();
    }

    // 3. Sort them. The zeros behind them are below all keys.
    int padded = 1;
    while (padded < count) padded *= 2;
    sort(candidates, padded);
    if (threadIdx.x < k) y[static_cast<int64_t>(blockIdx.x) * k + threadIdx.x] = value_of(candidates[threadIdx.x]);
}

torch::Tensor top_k(torch::Tensor x, int64_t k)
{
    TORCH_CHECK(x.scalar_type() == torch::kFloat32, "top_k: x must be float32, not ", x.scalar_type());
    TORCH_CHECK(x.dim() == 2, "top_k: x must have 2 dimensions, not ", x.dim());
    const int64_t rows = x.size(0), width = x.size(1);
    TORCH_CHECK(k >= 1 && k <= width, "top_k: k must lie between 1 and ", width, ", not at ", k);
    TORCH_CHECK(k <= kMostK, "top_k: k must be at most ", kMostK, ", not ", k);
    TORCH_CHECK(width <= INT_MAX - kVectors * kThreads, "top_k: rows are too long for 32-bit indices");
    const c10::cuda::CUDAGuard guard(x.device());
    x = x.contiguous();
    auto y = torch::empty({rows, k}, x.options());
    if (rows == 0) return y;
    const float* in = x.const_data_ptr<float>();
    const bool is_aligned = width % 4 == 0 && reinterpret_cast<uintptr_t>(in) % sizeof(float4) == 0;
    top_k_kernel<<<rows, kThreads, 0, c10::cuda::getCurrentCUDAStream()>>>(
        in, y.mutable_data_ptr<float>(), width, k, is_aligned);
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return y;
}
"""

extension = load_inline(
    name="top_k_radix_select",
    cpp_sources=CPP_SOURCE,
    cuda_sources=CUDA_SOURCE,
    functions=["top_k"],
    extra_cuda_cflags=["-O3"],
)


class ModelNew(nn.Module):
    """The k largest values along dimension 1 of a float32 matrix, with k up to 256."""

    def __init__(self, k: int) -> None:
        super().__init__()
        self.k = k

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return extension.top_k(x, self.k)
