"""A product of int8 matrices with __dp4a, four products per instruction: 8 x 8 outputs per thread."""

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
#include <torch/types.h>

#include <algorithm>
#include <climits>
#include <cstdint>

namespace {

constexpr int kTile = 128;     // a block computes kTile x kTile outputs
constexpr int kWords = 8;      // terms that are in shared memory at a time, in words of four
constexpr int kDepth = 4 * kWords;
constexpr int kSide = 16;      // threads in either direction
constexpr int kThreads = kSide * kSide;
constexpr int kHalf = kTile / 2;  // a thread computes 4 rows of either half by 4 columns of either half
static_assert(kSide * 4 == kHalf);

// A word holds four terms of a row of a, or of a column of b: what __dp4a multiplies.
struct Tiles {
    int a[kWords][kTile];
    int b[kWords][kTile];
};

struct Product {
    const int8_t *a, *b;
    const float *a_scale, *b_scale;
    float* out;
    int rows, inner, columns;
    bool has_whole_rows;   // of a, in steps of 16 bytes
    bool has_whole_words;  // rows of b and of the output, in steps of four columns
};

// Four bytes of a row of b.
__device__ unsigned fetch_word(const Product& p, int row, int column)
{
    if (row >= p.inner || column >= p.columns) return 0;
    const int8_t* source = p.b + static_cast<int64_t>(row) * p.columns + column;
    if (p.has_whole_words) return *reinterpret_cast<const unsigned*>(source);
    unsigned word = 0;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        if (column + i < p.columns) word |= static_cast<unsigned>(static_cast<uint8_t>(source[i])) << (8 * i);
    }
    return word;
}

// Sixteen bytes of a row of a.
__device__ int4 fetch_chunk(const Product& p, int row, int term)
{
    if (row >= p.rows || term >= p.inner) return make_int4(0, 0, 0, 0);
    const int8_t* source = p.a + static_cast<int64_t>(row) * p.inner + term;
    if (p.has_whole_rows) return *reinterpret_cast<const int4*>(source);
    alignas(16) int8_t values[16];
#pragma unroll
    for (int i = 0; i < 16; ++i) values[i] = term + i < p.inner ? source[i] : 0;
    return *reinterpret_cast<const int4*>(values);
}

// A thread's part of the next tiles: 16 terms of one row of a, and 4 x 4 values of b.
struct Fetched {
    int4 a;
    unsigned b[4];
};

__device__ void fetch(Fetched& fetched, const Product& p, int first_row, int first_column, int first_term)
{
    const int row = threadIdx.x % kTile;
    const int chunk = threadIdx.x / kTile;
    fetched.a = fetch_chunk(p, first_row + row, first_term + chunk * 16);
    const int column = threadIdx.x % (kTile / 4) * 4;
    const int word = threadIdx.x / (kTile / 4);
#pragma unroll
    for (int i = 0; i < 4; ++i) fetched.b[i] = fetch_word(p, first_term + word * 4 + i, first_column + column);
}

__device__ void put(Tiles& tiles, const Fetched& fetched)
{
    const int row = threadIdx.x % kTile;
    const int first_word = threadIdx.x / kTile * 4;
    tiles.a[first_word][row] = fetched.a.x;
    tiles.a[first_word + 1][row] = fetched.a.y;
    tiles.a[first_word + 2][row] = fetched.a.z;
    tiles.a[first_word + 3][row] = fetched.a.w;

    // Four rows of four bytes become four columns.
    const unsigned low_01 = __byte_perm(fetched.b[0], fetched.b[1], 0x5140);
    const unsigned low_23 = __byte_perm(fetched.b[2], fetched.b[3], 0x5140);
    const unsigned high_01 = __byte_perm(fetched.b[0], fetched.b[1], 0x7362);
    const unsigned high_23 = __byte_perm(fetched.b[2], fetched.b[3], 0x7362);
    const int column = threadIdx.x % (kTile / 4) * 4;
    const int word = threadIdx.x / (kTile / 4);
    *reinterpret_cast<int4*>(&tiles.b[word][column]) = make_int4(
        __byte_perm(low_01, low_23, 0x5410), __byte_perm(low_01, low_23, 0x7632),
        __byte_perm(high_01, high_23, 0x5410), __byte_perm(high_01, high_23, 0x7632));
}

// Four words from either half of a row of a tile.
__device__ void read_words(int (&words)[8], const int* row, int place)
{
    *reinterpret_cast<int4*>(words) = *reinterpret_cast<const int4*>(row + place);
    *reinterpret_cast<int4*>(words + 4) = *reinterpret_cast<const int4*>(row + kHalf + place);
}

__device__ void store(const Product& p, const int (&sums)[8][8], int first_row, int first_column)
{
#pragma unroll
    for (int i = 0; i < 8; ++i) {
        const int row = first_row + i / 4 * kHalf + i % 4;
        if (row >= p.rows) continue;
        const float a_scale = p.a_scale[row];
        float* out = p.out + static_cast<int64_t>(row) * p.columns;
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            const int column = first_column + half * kHalf;
            float values[4];
#pragma unroll
            for (int j = 0; j < 4; ++j) {
                const float b_scale = column + j < p.columns ? p.b_scale[column + j] : 0.0f;
                values[j] = static_cast<float>(sums[i][half * 4 + j]) * a_scale * b_scale;
            }
            if (p.has_whole_words && column < p.columns) {
                *reinterpret_cast<float4*>(out + column) = make_float4(values[0], values[1], values[2], values[3]);
                continue;
            }
#pragma unroll
            for (int j = 0; j < 4; ++j) {
                if (column + j < p.columns) out[column + j] = values[j];
            }
        }
    }
}

__global__ void __launch_bounds__(kThreads, 2) int8_matmul_kernel(Product p)
{
    __shared__ __align__(16) Tiles stages[2];
    const int first_row = blockIdx.y * kTile;
    const int first_column = blockIdx.x * kTile;
    const int thread_row = threadIdx.x / kSide * 4;
    const int thread_column = threadIdx.x % kSide * 4;

    int sums[8][8] = {};
    Fetched fetched;
    fetch(fetched, p, first_row, first_column, 0);
    put(stages[0], fetched);
    __syncthreads();
    int stage = 0;
    for (int first_term = 0; first_term < p.inner; first_term += kDepth) {
        // The loads begin here and end at put(): the products stand between, and hide their latency.
        // Beyond the last term they are zeros, which nobody reads.
        fetch(fetched, p, first_row, first_column, first_term + kDepth);
        const Tiles& tiles = stages[stage];
#pragma unroll
        for (int word = 0; word < kWords; ++word) {
            int left[8], right[8];
            read_words(left, tiles.a[word], thread_row);
            read_words(right, tiles.b[word], thread_column);
#pragma unroll
            for (int i = 0; i < 8; ++i) {
#pragma unroll
                for (int j = 0; j < 8; ++j) sums[i][j] = __dp4a(left[i], right[j], sums[i][j]);
            }
        }
        stage = 1 - stage;
        put(stages[stage], fetched);
        __syncthreads();
    }
    store(p, sums, first_row + thread_row, first_column + thread_column);
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
        static_cast<int>(a.size(1)), static_cast<int>(b.size(1)),
        a.size(1) % 16 == 0 && is_aligned(a.const_data_ptr()), b.size(1) % 4 == 0 && is_aligned(b.const_data_ptr())};
    const int row_blocks = (product.rows + kTile - 1) / kTile;
    TORCH_CHECK(row_blocks <= 65535, "int8_matmul: too many rows for one launch");
    const dim3 blocks((product.columns + kTile - 1) / kTile, row_blocks);
    int8_matmul_kernel<<<blocks, kThreads, 0, c10::cuda::getCurrentCUDAStream()>>>(product);
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return out;
}
"""

extension = load_inline(
    name="int8_matmul_packed_products",
    cpp_sources=CPP_SOURCE,
    cuda_sources=CUDA_SOURCE,
    functions=["int8_matmul"],
    extra_cuda_cflags=["-O3"],
)


class ModelNew(nn.Module):
    """The product by the kernel above."""

    def forward(self, a: torch.Tensor, b: torch.Tensor, a_scale: torch.Tensor, b_scale: torch.Tensor) -> torch.Tensor:
        return extension.int8_matmul(a, b, a_scale, b_scale)
