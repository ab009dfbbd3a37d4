"""A product of int8 matrices on tensor cores (wmma): bytes become bfloat16, whose sums are exact up to 1024 terms."""

import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

CPP_SOURCE = """
torch::Tensor int8_matmul(torch::Tensor a, torch::Tensor b, torch::Tensor a_scale, torch::Tensor b_scale);
"""

CUDA_SOURCE = r"""
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda_bf16.h>
#include <mma.h>
#include <torch/types.h>

#include <algorithm>
#include <climits>
#include <cstdint>

namespace {

using namespace nvcuda;
using bf16 = __nv_bfloat16;

constexpr int kTile = 128;       // a block computes kTile x kTile outputs
constexpr int kDepth = 64;       // terms of the sums that are in shared memory at a time
constexpr int kFragment = 16;    // a warp multiplies 16 x 16 x 16 at a time
constexpr int kWarpRows = 64;    // and computes kWarpRows x kWarpColumns outputs
constexpr int kWarpColumns = 32;
constexpr int kRowFragments = kWarpRows / kFragment;
constexpr int kColumnFragments = kWarpColumns / kFragment;
constexpr int kRowWarps = kTile / kWarpRows;
constexpr int kColumnWarps = kTile / kWarpColumns;
constexpr int kThreads = kRowWarps * kColumnWarps * 32;

// 16 bytes more than needed: eight rows one below the other are then in different banks.
constexpr int kPitchA = kDepth + 8;
constexpr int kPitchB = kTile + 8;
constexpr int kStageA = kTile * kPitchA;
constexpr int kStage = kStageA + kDepth * kPitchB;
constexpr int kSharedBytes = 2 * kStage * sizeof(bf16);

constexpr int kChunk = 16;  // bytes that a thread fetches at once
constexpr int kChunks = kTile * kDepth / kChunk / kThreads;  // of a thread, of either matrix
static_assert(kTile * kDepth % (kChunk * kThreads) == 0);

// Products of two int8 are at most 2^14, and float32 holds all integers up to 2^24: so many terms are exact.
constexpr int kExactTerms = 1024;
static_assert(kExactTerms % kDepth == 0);

// Sums pass through shared memory on their way out, 16 rows of a warp at a time.
constexpr int kSumPitch = kWarpColumns + 4;
constexpr int kWarpSums = kFragment * kSumPitch;
static_assert(kThreads / 32 * kWarpSums * sizeof(float) <= kSharedBytes);

struct Product {
    const int8_t *a, *b;
    const float *a_scale, *b_scale;
    float* out;
    int rows, inner, columns;
};

// Sixteen bytes of a row, zeros for what lies outside of the matrix.
template <bool kWhole>  // a row holds whole chunks, at multiples of 16 bytes
__device__ uint4 fetch(const int8_t* matrix, int rows, int columns, int row, int column)
{
    if (row >= rows || column >= columns) return make_uint4(0, 0, 0, 0);
    const int8_t* source = matrix + static_cast<int64_t>(row) * columns + column;
    if constexpr (kWhole) {
        return *reinterpret_cast<const uint4*>(source);
    } else {
        alignas(16) int8_t values[kChunk];
#pragma unroll
        for (int i = 0; i < kChunk; ++i) values[i] = column + i < columns ? source[i] : 0;
        return *reinterpret_cast<const uint4*>(values);
    }
}

// A thread's part of the next tiles.
struct Fetched {
    uint4 a[kChunks], b[kChunks];
};

template <bool kWhole>
__device__ void fetch_tiles(Fetched& fetched, const Product& p, int first_row, int first_column, int first_term)
{
#pragma unroll
    for (int i = 0; i < kChunks; ++i) {
        const int chunk = i * kThreads + threadIdx.x;
        fetched.a[i] = fetch<kWhole>(p.a, p.rows, p.inner, first_row + chunk / (kDepth / kChunk),
            first_term + chunk % (kDepth / kChunk) * kChunk);
        fetched.b[i] = fetch<kWhole>(p.b, p.inner, p.columns, first_term + chunk / (kTile / kChunk),
            first_column + chunk % (kTile / kChunk) * kChunk);
    }
}

// Two bytes of a word as two bfloat16. Eight bits suffice for them, so the upper half of a float is all of it.
__device__ unsigned widen(unsigned word, int first)
{
    const float low = static_cast<float>(static_cast<int8_t>(word >> (8 * first)));
    const float high = static_cast<float>(static_cast<int8_t>(word >> (8 * first + 8)));
    return __byte_perm(__float_as_uint(low), __float_as_uint(high), 0x7632);
}

__device__ void put_chunk(bf16* target, const uint4& chunk)
{
    uint4* halves = reinterpret_cast<uint4*>(target);
    halves[0] = make_uint4(widen(chunk.x, 0), widen(chunk.x, 2), widen(chunk.y, 0), widen(chunk.y, 2));
    halves[1] = make_uint4(widen(chunk.z, 0), widen(chunk.z, 2), widen(chunk.w, 0), widen(chunk.w, 2));
}

__device__ void put_tiles(bf16* stage, const Fetched& fetched)
{
#pragma unroll
    for (int i = 0; i < kChunks; ++i) {
        const int chunk = i * kThreads + threadIdx.x;
        put_chunk(stage + chunk / (kDepth / kChunk) * kPitchA + chunk % (kDepth / kChunk) * kChunk, fetched.a[i]);
        put_chunk(
            stage + kStageA + chunk / (kTile / kChunk) * kPitchB + chunk % (kTile / kChunk) * kChunk, fetched.b[i]);
    }
}

using Sums = wmma::fragment<wmma::accumulator, kFragment, kFragment, kFragment, float>;
using WarpSums = Sums[kRowFragments][kColumnFragments];
constexpr int kSums = Sums::num_elements;  // of a thread, of each fragment
using Totals = int[kRowFragments][kColumnFragments][kSums];

__device__ void multiply_add(WarpSums& sums, const bf16* a_rows, const bf16* b_columns)
{
    using Left = wmma::fragment<wmma::matrix_a, kFragment, kFragment, kFragment, bf16, wmma::row_major>;
    using Right = wmma::fragment<wmma::matrix_b, kFragment, kFragment, kFragment, bf16, wmma::row_major>;
#pragma unroll
    for (int term = 0; term < kDepth; term += kFragment) {
        Left left[kRowFragments];
        Right right[kColumnFragments];
#pragma unroll
        for (int i = 0; i < kRowFragments; ++i) {
            wmma::load_matrix_sync(left[i], a_rows + i * kFragment * kPitchA + term, kPitchA);
        }
#pragma unroll
        for (int j = 0; j < kColumnFragments; ++j) {
            wmma::load_matrix_sync(right[j], b_columns + term * kPitchB + j * kFragment, kPitchB);
        }
#pragma unroll
        for (int i = 0; i < kRowFragments; ++i) {
#pragma unroll
            for (int j = 0; j < kColumnFragments; ++j) wmma::mma_sync(sums[i][j], left[i], right[j], sums[i][j]);
        }
    }
}

__device__ void move_to_totals(Totals& totals, WarpSums& sums)
{
#pragma unroll
    for (int i = 0; i < kRowFragments; ++i) {
#pragma unroll
        for (int j = 0; j < kColumnFragments; ++j) {
#pragma unroll
            for (int k = 0; k < kSums; ++k) totals[i][j][k] += static_cast<int>(sums[i][j].x[k]);
            wmma::fill_fragment(sums[i][j], 0.0f);
        }
    }
}

static_assert(kWarpColumns == 32, "a lane stores a column");

// Scales totals and stores them. wmma doesn't say which thread holds which sum, so they go through shared memory,
// where their place is known.
__device__ void store(
    const Product& p, const Totals& totals, WarpSums& sums, float* warp_sums, int first_row, int first_column)
{
    const int column = first_column + threadIdx.x % 32;
    const float b_scale = column < p.columns ? p.b_scale[column] : 0.0f;
#pragma unroll
    for (int i = 0; i < kRowFragments; ++i) {
#pragma unroll
        for (int j = 0; j < kColumnFragments; ++j) {
#pragma unroll
            for (int k = 0; k < kSums; ++k) sums[i][j].x[k] = static_cast<float>(totals[i][j][k]);
            wmma::store_matrix_sync(warp_sums + j * kFragment, sums[i][j], kSumPitch, wmma::mem_row_major);
        }
        __syncwarp();
#pragma unroll
        for (int k = 0; k < kFragment; ++k) {
            const int row = first_row + i * kFragment + k;
            if (row >= p.rows || column >= p.columns) continue;
            const float sum = warp_sums[k * kSumPitch + threadIdx.x % 32];
            p.out[static_cast<int64_t>(row) * p.columns + column] = sum * p.a_scale[row] * b_scale;
        }
        __syncwarp();
    }
}

template <bool kWhole>
__global__ void __launch_bounds__(kThreads) int8_matmul_kernel(Product p)
{
    extern __shared__ __align__(128) unsigned char shared[];
    bf16* stages = reinterpret_cast<bf16*>(shared);
    const int warp = threadIdx.x / 32;
    const int warp_row = warp / kColumnWarps * kWarpRows;
    const int warp_column = warp % kColumnWarps * kWarpColumns;
    const int first_row = blockIdx.y * kTile;
    const int first_column = blockIdx.x * kTile;

    Totals totals = {};
    WarpSums sums;
#pragma unroll
    for (int i = 0; i < kRowFragments; ++i) {
#pragma unroll
        for (int j = 0; j < kColumnFragments; ++j) wmma::fill_fragment(sums[i][j], 0.0f);
    }

    Fetched fetched;
    fetch_tiles<kWhole>(fetched, p, first_row, first_column, 0);
    put_tiles(stages, fetched);
    __syncthreads();
    int stage = 0;
    for (int first_term = 0; first_term < p.inner; first_term += kDepth) {
        // The loads begin here and end at put_tiles: the products stand between, and hide their latency.
        // Beyond the last term they are zeros, which nobody reads.
        fetch_tiles<kWhole>(fetched, p, first_row, first_column, first_term + kDepth);
        const bf16* tiles = stages + stage * kStage;
        multiply_add(sums, tiles + warp_row * kPitchA, tiles + kStageA + warp_column);
        if ((first_term + kDepth) % kExactTerms == 0) move_to_totals(totals, sums);
        stage = 1 - stage;
        put_tiles(stages + stage * kStage, fetched);
        __syncthreads();
    }
    move_to_totals(totals, sums);

    float* warp_sums = reinterpret_cast<float*>(shared) + warp * kWarpSums;
    store(p, totals, sums, warp_sums, first_row + warp_row, first_column + warp_column);
}

bool is_aligned(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer) % 16 == 0; }

}  // namespace

torch::Tensor int8_matmul(torch::Tensor a, torch::Tensor b, torch::Tensor a_scale, torch::Tensor b_scale)
{
    const c10::cuda::CUDAGuard guard(a.device());
    a = a.contiguous(), b = b.contiguous(), a_scale = a_scale.contiguous(), b_scale = b_scale.contiguous();
    auto out = torch::empty({a.size(0), b.size(1)}, a_scale.options());
    if (out.numel() == 0) return out;
    TORCH_CHECK(std::max({a.size(0), a.size(1), b.size(1)}) < INT_MAX - kTile, "int8_matmul: too large a matrix");
    TORCH_CHECK(a.size(1) < 1 << 17, "int8_matmul: sums of so many products may exceed 32 bits");
    const Product product = {
        a.const_data_ptr<int8_t>(), b.const_data_ptr<int8_t>(), a_scale.const_data_ptr<float>(),
        b_scale.const_data_ptr<float>(), out.data_ptr<float>(), static_cast<int>(a.size(0)),
        static_cast<int>(a.size(1)), static_cast<int>(b.size(1))};
    const bool is_whole = product.inner % kChunk == 0 && product.columns % kChunk == 0 && is_aligned(product.a) &&
        is_aligned(product.b);
    const auto kernel = is_whole ? int8_matmul_kernel<true> : int8_matmul_kernel<false>;
    C10_CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kSharedBytes));
    const int row_blocks = (product.rows + kTile - 1) / kTile;
    TORCH_CHECK(row_blocks <= 65535, "int8_matmul: too many rows for one launch");
    const dim3 blocks((product.columns + kTile - 1) / kTile, row_blocks);
    kernel<<<blocks, kThreads, kSharedBytes, c10::cuda::getCurrentCUDAStream()>>>(product);
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return out;
}
"""

extension = load_inline(
    name="int8_matmul_tensor_cores",
    cpp_sources=CPP_SOURCE,
    cuda_sources=CUDA_SOURCE,
    functions=["int8_matmul"],
    extra_cuda_cflags=["-O3"],
)


class ModelNew(nn.Module):
    """The product by the kernel above."""

    def forward(self, a: torch.Tensor, b: torch.Tensor, a_scale: torch.Tensor, b_scale: torch.Tensor) -> torch.Tensor:
        return extension.int8_matmul(a, b, a_scale, b_scale)
