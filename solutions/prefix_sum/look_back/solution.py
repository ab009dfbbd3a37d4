"""Running sums in one pass: a block per tile, which looks back at what blocks before it have published."""

import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

CPP_SOURCE = """
torch::Tensor prefix_sum(torch::Tensor x);
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
constexpr int kThreads = 256;
constexpr int kWarps = kThreads / kLanes;
constexpr int kVectors = 4;                         // of a thread, each of four elements
constexpr int kChunk = 4 * kLanes;                  // what a warp reads by one vector per lane
constexpr int kWarpTile = kVectors * kChunk;        // consecutive elements of a warp
constexpr int kTile = kWarps * kWarpTile;           // consecutive elements of a block

// What a tile's block has published, in one word, so that a reader never sees half of it: the status in the upper half,
// a float in the lower.
using State = unsigned long long;
constexpr State kUnknown = 0;
constexpr State kOwnSum = State(1) << 32;   // the sum of this tile
constexpr State kRunning = State(2) << 32;  // the sum of the row up to the end of this tile
constexpr State kStatus = State(3) << 32;

// A thread's elements: vector v lies kChunk elements behind vector v - 1, so that each load of a warp is coalesced.
struct Elements {
    float4 vectors[kVectors];
};

struct Matrix {
    int64_t width;
    unsigned rows;
    int tiles;        // of a row
    bool is_aligned;  // every row starts at a multiple of 16 bytes
};

__device__ State state_of(State status, float sum)
{
    return status | __float_as_uint(sum);
}

// The index in its row of this thread's first element.
__device__ int64_t first_element(int tile)
{
    const int warp = threadIdx.x / kLanes, lane = threadIdx.x % kLanes;
    return static_cast<int64_t>(tile) * kTile + warp * kWarpTile + lane * 4;
}

// Zeros stand for what lies beyond the row.
__device__ Elements load(const float* __restrict__ row, int64_t first, const Matrix& matrix)
{
    Elements elements;
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
        const int64_t i = first + v * kChunk;
        if (matrix.is_aligned && i + 4 <= matrix.width) {
            elements.vectors[v] = *reinterpret_cast<const float4*>(row + i);
        } else {
            elements.vectors[v].x = i < matrix.width ? row[i] : 0.0f;
            elements.vectors[v].y = i + 1 < matrix.width ? row[i + 1] : 0.0f;
            elements.vectors[v].z = i + 2 < matrix.width ? row[i + 2] : 0.0f;
            elements.vectors[v].w = i + 3 < matrix.width ? row[i + 3] : 0.0f;
        }
    }
    return elements;
}

__device__ void store(const Elements& elements, float* __restrict__ row, int64_t first, const Matrix& matrix)
{
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
        const int64_t i = first + v * kChunk;
        const float4 vector = elements.vectors[v];
        if (matrix.is_aligned && i + 4 <= matrix.width) {
            __stcs(reinterpret_cast<float4*>(row + i), vector);
        } else {
            if (i < matrix.width) row[i] = vector.x;
            if (i + 1 < matrix.width) row[i + 1] = vector.y;
            if (i + 2 < matrix.width) row[i + 2] = vector.z;
            if (i + 3 < matrix.width) row[i + 3] = vector.w;
        }
    }
}

// The sum of `value` over this lane and those before it.
__device__ float running_in_warp(float value)
{
    const int lane = threadIdx.x % kLanes;
#pragma unroll
    for (int covered = 1; covered < kLanes; covered *= 2) {
        const float left = __shfl_up_sync(kAllLanes, value, covered);
        if (lane >= covered) value += left;
    }
    return value;
}

// The sum of all tiles of the row before this one, for a whole warp. Lane 0 looks at the tile just before, lane 1 at
// the one before that, and so on, until one of them knows its running sum.
__device__ float sum_before(const volatile State* row_states, int tile)
{
    const int lane = threadIdx.x % kLanes;
    float before = 0.0f;
    for (int last = tile - 1; last >= 0; last -= kLanes) {
        const int other = last - lane;
        State state = kRunning;  // before the row: a running sum of 0
        if (other >= 0) {
            do state = row_states[other]; while (state == kUnknown);
        }
        const unsigned have_running = __ballot_sync(kAllLanes, (state & kStatus) == kRunning);
        const int nearest = have_running == 0 ? kLanes : __ffs(have_running) - 1;
        float sum = lane <= nearest ? __uint_as_float(static_cast<unsigned>(state)) : 0.0f;
#pragma unroll
        for (int distance = kLanes / 2; distance > 0; distance /= 2) sum += __shfl_xor_sync(kAllLanes, sum, distance);
        before += sum;
        if (have_running != 0) break;
    }
    return before;
}

__global__ void __launch_bounds__(kThreads) scan_kernel(
    const float* __restrict__ x, float* __restrict__ y, State* states, unsigned* next_ticket, Matrix matrix)
{
    __shared__ float warp_sums[kWarps];
    __shared__ unsigned shared_ticket;
    __shared__ float shared_before;
    // A block waits for tiles before its own. So blocks take tiles in the order in which they start: whoever has an
    // earlier tile is running already, or has ended. Consecutive tickets go to different rows, so that the tile before
    // is as many tickets old as there are rows, and nobody waits long.
    if (threadIdx.x == 0) shared_ticket = atomicAdd(next_ticket, 1u);
    __syncthreads();
    const int64_t row = shared_ticket % matrix.rows;
    const int tile = shared_ticket / matrix.rows;
    states += row * matrix.tiles;
    const int warp = threadIdx.x / kLanes, lane = threadIdx.x % kLanes;
    const int64_t first = first_element(tile);
    Elements elements = load(x + row * matrix.width, first, matrix);

    // 1. Running sums from the warp's first element on, chunk by chunk.
    float carry = 0.0f;
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
        float4& vector = elements.vectors[v];
        vector.y += vector.x;
        vector.z += vector.y;
        vector.w += vector.z;
        const float running = running_in_warp(vector.w);
        const float left = __shfl_up_sync(kAllLanes, running, 1);
        const float before = lane == 0 ? carry : carry + left;
        vector.x += before;
        vector.y += before;
        vector.z += before;
        vector.w += before;
        carry += __shfl_sync(kAllLanes, running, kLanes - 1);
    }
    if (lane == 0) warp_sums[warp] = carry;
    __syncthreads();

    // 2. The first warp publishes the tile's sum, looks back, and publishes the running sum.
    if (warp == 0) {
        float sum = 0.0f;
        for (int other = 0; other < kWarps; ++other) sum += warp_sums[other];
        if (lane == 0) atomicExch(states + tile, state_of(kOwnSum, sum));
        const float before = sum_before(states, tile);
        if (lane == 0) {
            atomicExch(states + tile, state_of(kRunning, before + sum));
            shared_before = before;
        }
    }
    __syncthreads();

    // 3. What lies before the warp is added.
    float before = shared_before;
    for (int other = 0; other < warp; ++other) before += warp_sums[other];
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
        float4& vector = elements.vectors[v];
        vector.x += before;
        vector.y += before;
        vector.z += before;
        vector.w += before;
    }
    store(elements, y + row * matrix.width, first, matrix);
}

bool is_aligned(const void* address)
{
    return reinterpret_cast<uintptr_t>(address) % sizeof(float4) == 0;
}

torch::Tensor prefix_sum(torch::Tensor x)
{
    TORCH_CHECK(x.scalar_type() == torch::kFloat32, "prefix_sum: x must be float32, not ", x.scalar_type());
    TORCH_CHECK(x.dim() == 2, "prefix_sum: x must have 2 dimensions, not ", x.dim());
    const c10::cuda::CUDAGuard guard(x.device());
    const auto stream = c10::cuda::getCurrentCUDAStream();
    x = x.contiguous();
    auto y = torch::empty_like(x);
    if (x.numel() == 0) return y;
    const int64_t rows = x.size(0), width = x.size(1);
    const int64_t tiles = (width + kTile - 1) / kTile;
    TORCH_CHECK(rows * tiles <= INT_MAX, "prefix_sum: too many blocks for one launch");
    // A state for each tile, and behind them the ticket that the next block takes.
    auto states = torch::zeros({rows * tiles + 1}, x.options().dtype(torch::kInt64));

    const float* in = x.const_data_ptr<float>();
    float* out = y.mutable_data_ptr<float>();
    State* words = reinterpret_cast<State*>(states.mutable_data_ptr<int64_t>());
    unsigned* next_ticket = reinterpret_cast<unsigned*>(words + rows * tiles);
    const bool aligned = width % 4 == 0 && is_aligned(in) && is_aligned(out);
    const Matrix matrix{width, static_cast<unsigned>(rows), static_cast<int>(tiles), aligned};
    scan_kernel<<<static_cast<int>(rows * tiles), kThreads, 0, stream>>>(in, out, words, next_ticket, matrix);
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return y;
}
"""

extension = load_inline(
    name="prefix_sum_look_back",
    cpp_sources=CPP_SOURCE,
    cuda_sources=CUDA_SOURCE,
    functions=["prefix_sum"],
    extra_cuda_cflags=["-O3"],
)


class ModelNew(nn.Module):
    """Running sums along dimension 1 of a float32 matrix."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return extension.prefix_sum(x)
