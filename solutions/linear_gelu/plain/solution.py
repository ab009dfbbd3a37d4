"""A linear layer with GELU: tiles of both matrices in shared memory, 4 x 4 outputs per thread."""

import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

CPP_SOURCE = """
torch::Tensor linear_gelu(torch::Tensor x, torch::Tensor weight, torch::Tensor bias);
"""

CUDA_SOURCE = r"""
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <torch/types.h>

constexpr int kTile = 64;     // a block computes kTile x kTile outputs
constexpr int kDepth = 16;    // terms of the sums that are in shared memory at a time
constexpr int kOutputs = 4;   // a thread computes kOutputs x kOutputs of them
constexpr int kThreads = 16;  // in either direction
static_assert(kThreads * kOutputs == kTile);

__device__ float gelu(float value) { return 0.5f * value * (1.0f + erff(value * 0.70710678f)); }

// Copies kTile rows of a matrix, kDepth columns from `first_column` on; zeros for what lies outside.
__device__ void load_tile(
    float (&tile)[kDepth][kTile + 1], const at::BFloat16* matrix, int rows, int columns, int first_row,
    int first_column)
{
    for (int i = threadIdx.y * kThreads + threadIdx.x; i < kTile * kDepth; i += kThreads * kThreads) {
        const int row = first_row + i / kDepth;
        const int column = first_column + i % kDepth;
        const bool inside = row < rows && column < columns;
        tile[i % kDepth][i / kDepth] =
            inside ? static_cast<float>(matrix[static_cast<int64_t>(row) * columns + column]) : 0.0f;
    }
}

__global__ void linear_gelu_kernel(
    const at::BFloat16* __restrict__ x, const at::BFloat16* __restrict__ weight,
    const at::BFloat16* __restrict__ bias, at::BFloat16* __restrict__ out, int rows, int in_features,
    int out_features)
{
    // One column more than needed, so that neighbouring terms are in different banks.
    __shared__ float x_tile[kDepth][kTile + 1];
    __shared__ float weight_tile[kDepth][kTile + 1];
    const int first_row = blockIdx.y * kTile;
    const int first_column = blockIdx.x * kTile;

    float sums[kOutputs][kOutputs] = {};
    for (int first_term = 0; first_term < in_features; first_term += kDepth) {
        load_tile(x_tile, x, rows, in_features, first_row, first_term);
        load_tile(weight_tile, weight, out_features, in_features, first_column, first_term);
        __syncthreads();
        for (int term = 0; term < kDepth; ++term) {
            // 8 loads serve 16 multiply-adds. A thread's outputs lie kThreads apart, so that neighbouring
            // threads read and write neighbouring addresses.
            float left[kOutputs], right[kOutputs];
            for (int i = 0; i < kOutputs; ++i) left[i] = x_tile[term][threadIdx.y + i * kThreads];
            for (int j = 0; j < kOutputs; ++j) right[j] = weight_tile[term][threadIdx.x + j * kThreads];
            for (int i = 0; i < kOutputs; ++i) {
                for (int j = 0; j < kOutputs; ++j) sums[i][j] += left[i] * right[j];
            }
        }
        __syncthreads();
    }

    for (int i = 0; i < kOutputs; ++i) {
        const int row = first_row + threadIdx.y + i * kThreads;
        for (int j = 0; j < kOutputs; ++j) {
            const int column = first_column + threadIdx.x + j * kThreads;
            if (row >= rows || column >= out_features) continue;
            const float value = sums[i][j] + static_cast<float>(bias[column]);
            out[static_cast<int64_t>(row) * out_features + column] = gelu(value);
        }
    }
}

torch::Tensor linear_gelu(torch::Tensor x, torch::Tensor weight, torch::Tensor bias)
{
    const c10::cuda::CUDAGuard guard(x.device());
    x = x.contiguous();
    const int rows = x.size(0), in_features = x.size(1), out_features = weight.size(0);
    auto out = torch::empty({rows, out_features}, x.options());
    const int row_blocks = (rows + kTile - 1) / kTile;
    TORCH_CHECK(row_blocks <= 65535, "linear_gelu: too many rows for one launch");
    const dim3 blocks((out_features + kTile - 1) / kTile, row_blocks);
    linear_gelu_kernel<<<blocks, dim3(kThreads, kThreads), 0, c10::cuda::getCurrentCUDAStream()>>>(
        x.data_ptr<at::BFloat16>(), weight.data_ptr<at::BFloat16>(), bias.data_ptr<at::BFloat16>(),
        out.data_ptr<at::BFloat16>(), rows, in_features, out_features);
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return out;
}
"""

extension = load_inline(
    name="linear_gelu_plain",
    cpp_sources=CPP_SOURCE,
    cuda_sources=CUDA_SOURCE,
    functions=["linear_gelu"],
    extra_cuda_cflags=["-O3"],
)


class ModelNew(nn.Module):
    """Has parameters of the same names as the problem's, and makes them alike."""

    def __init__(self, in_features: int, out_features: int) -> None:
        super().__init__()
        weight = torch.randn(out_features, in_features) * in_features**-0.5
        self.weight = nn.Parameter(weight.to(torch.bfloat16))
        self.bias = nn.Parameter(torch.randn(out_features, dtype=torch.bfloat16))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return extension.linear_gelu(x, self.weight, self.bias)
