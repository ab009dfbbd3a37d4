"""Average pooling, a block per row of outputs: each thread sums four columns at once."""

import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

CPP_SOURCE = """
torch::Tensor avg_pool2d(torch::Tensor input, int64_t kernel_size, int64_t stride, int64_t padding);
"""

CUDA_SOURCE = r"""
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <torch/types.h>

#include <algorithm>
#include <climits>
#include <cstdint>

struct Pooling {
    int height, width, out_height, out_width;
    int kernel_size, stride, padding;
};

// Windows of 11 x 11 inside of an image whose rows are multiples of 16 bytes: a block per row of
// outputs, with all rows of its windows on their way at once.

constexpr int kWindow = 11;
constexpr int kRowThreads = 512;
constexpr int kRowBlocks = 2;  // of an SM at least: leaves 64 registers, and 11 float4 need 44
constexpr int kMaxWidth = 48 * 1024 / sizeof(float);  // column sums in what needs no asking

__device__ __forceinline__ float4 sum_of(const float4 (&values)[kWindow])
{
    float4 sum = values[0];
    #pragma unroll
    for (int k = 1; k < kWindow; ++k) {
        sum.x += values[k].x;
        sum.y += values[k].y;
        sum.z += values[k].z;
        sum.w += values[k].w;
    }
    return sum;
}

__device__ __forceinline__ void store_averages(
    const float* column_sums, float* output_row, const Pooling& p)
{
    for (int out_x = threadIdx.x; out_x < p.out_width; out_x += kRowThreads) {
        float sum = 0.0f;
        #pragma unroll
        for (int k = 0; k < kWindow; ++k) sum += column_sums[out_x * p.stride + k];
        output_row[out_x] = sum / (kWindow * kWindow);
    }
}

__global__ void __launch_bounds__(kRowThreads, kRowBlocks) whole_windows_kernel(
    const float* __restrict__ input, float* __restrict__ output, Pooling p)
{
    extern __shared__ __align__(16) float column_sums[];
    const int64_t out_row = blockIdx.x;  // counted through all planes
    const int64_t plane = out_row / p.out_height;
    const int top = out_row % p.out_height * p.stride;
    const float4* rows =
        reinterpret_cast<const float4*>(input + (plane * p.height + top) * p.width);

    const int quads = p.width / 4;
    for (int quad = threadIdx.x; quad < quads; quad += kRowThreads) {
        // All before the first is used: 88 KB in flight per block. No other thread needs them, so
        // they may leave the caches first.
        float4 values[kWindow];
        #pragma unroll
        for (int k = 0; k < kWindow; ++k) values[k] = __ldcs(rows + k * quads + quad);
        reinterpret_cast<float4*>(column_sums)[quad] = sum_of(values);
    }
    __syncthreads();
    store_averages(column_sums, output + out_row * p.out_width, p);
}

void launch_whole_windows(
    const float* input, float* output, const Pooling& p, int64_t out_rows, cudaStream_t stream)
{
    TORCH_CHECK(out_rows <= INT_MAX, "avg_pool2d: too many blocks for one launch; split the batch");
    whole_windows_kernel
        <<<static_cast<int>(out_rows), kRowThreads, p.width * sizeof(float), stream>>>(
            input, output, p);
    C10_CUDA_KERNEL_LAUNCH_CHECK();
}

// All other windows: a block sums the columns under a part of a row of outputs, one after another.

constexpr int kThreads = 256;
constexpr int kMaxColumns = 2048;  // 8 KB of shared memory, so that eight blocks share an SM

__global__ void column_sums_kernel(
    const float* __restrict__ input, float* __restrict__ output, Pooling p,
    int segments, int outputs_per_segment)
{
    __shared__ float column_sums[kMaxColumns];

    const int segment = blockIdx.x % segments;
    const int out_row = blockIdx.x / segments;  // counted through all planes
    const int plane = out_row / p.out_height;
    const int out_y = out_row % p.out_height;

    const int first_output = segment * outputs_per_segment;
    const int outputs = min(outputs_per_segment, p.out_width - first_output);
    const int columns = (outputs - 1) * p.stride + p.kernel_size;
    const int left = first_output * p.stride - p.padding;
    const int top = out_y * p.stride - p.padding;
    const int first_y = max(top, 0);
    const int end_y = min(top + p.kernel_size, p.height);

    const float* first_row = input + (static_cast<int64_t>(plane) * p.height + first_y) * p.width;
    for (int column = threadIdx.x; column < columns; column += kThreads) {
        const int x = left + column;
        float sum = 0.0f;
        if (x >= 0 && x < p.width) {
            const float* value = first_row + x;
            for (int y = first_y; y < end_y; ++y, value += p.width) sum += *value;
        }
        column_sums[column] = sum;
    }
    __syncthreads();

    // Padding counts: the divisor is the window's area even where part of it lies outside.
    const float area = static_cast<float>(p.kernel_size) * p.kernel_size;
    output += static_cast<int64_t>(out_row) * p.out_width + first_output;
    for (int out_x = threadIdx.x; out_x < outputs; out_x += kThreads) {
        float sum = 0.0f;
        for (int k = 0; k < p.kernel_size; ++k) sum += column_sums[out_x * p.stride + k];
        output[out_x] = sum / area;
    }
}

void launch_column_sums(
    const float* input, float* output, const Pooling& p, int64_t out_rows, cudaStream_t stream)
{
    const int outputs_per_segment = (kMaxColumns - p.kernel_size) / p.stride + 1;
    const int segments = (p.out_width - 1) / outputs_per_segment + 1;
    // Everything in the grid's x dimension: y and z end at 65535.
    TORCH_CHECK(out_rows * segments <= INT_MAX,
        "avg_pool2d: too many blocks for one launch; split the batch");
    column_sums_kernel<<<static_cast<int>(out_rows * segments), kThreads, 0, stream>>>(
        input, output, p, segments, outputs_per_segment);
    C10_CUDA_KERNEL_LAUNCH_CHECK();
}

torch::Tensor avg_pool2d(torch::Tensor input, int64_t kernel_size, int64_t stride, int64_t padding)
{
    TORCH_CHECK(input.is_cuda(),
        "avg_pool2d: input must be on a CUDA device, not ", input.device());
    TORCH_CHECK(input.scalar_type() == torch::kFloat32,
        "avg_pool2d: input must be float32, not ", input.scalar_type());
    TORCH_CHECK(input.dim() == 4, "avg_pool2d: input must have 4 dimensions, not ", input.dim());
    TORCH_CHECK(kernel_size > 0 && stride > 0,
        "avg_pool2d: kernel_size and stride must be positive");
    TORCH_CHECK(kernel_size <= kMaxColumns,
        "avg_pool2d: kernel_size must not exceed ", kMaxColumns, ", but is ", kernel_size);
    TORCH_CHECK(padding >= 0 && padding <= kernel_size / 2,
        "avg_pool2d: padding must lie between 0 and half of kernel_size, not at ", padding);

    const int64_t height = input.size(2), width = input.size(3);
    TORCH_CHECK(height > 0 && width > 0, "avg_pool2d: height and width must not be 0");
    TORCH_CHECK(kernel_size <= height + 2 * padding && kernel_size <= width + 2 * padding,
        "avg_pool2d: the window is larger than the padded input");
    const int64_t longest = std::max(height, width) + 2 * padding;
    TORCH_CHECK(longest <= INT_MAX / 2,
        "avg_pool2d: height and width are too large for 32-bit indices");
    stride = std::min(stride, longest);  // beyond it there is but one output
    const int64_t out_height = (height + 2 * padding - kernel_size) / stride + 1;
    const int64_t out_width = (width + 2 * padding - kernel_size) / stride + 1;

    const c10::cuda::CUDAGuard guard(input.device());
    input = input.contiguous();
    auto output =
        torch::empty({input.size(0), input.size(1), out_height, out_width}, input.options());
    if (output.numel() == 0) return output;

    const Pooling pooling{
        static_cast<int>(height), static_cast<int>(width),
        static_cast<int>(out_height), static_cast<int>(out_width),
        static_cast<int>(kernel_size), static_cast<int>(stride), static_cast<int>(padding)};
    const float* from = input.const_data_ptr<float>();
    const bool whole_windows = kernel_size == kWindow && padding == 0 && width <= kMaxWidth
        && width % 4 == 0 && reinterpret_cast<uintptr_t>(from) % 16 == 0;
    const auto launch = whole_windows ? launch_whole_windows : launch_column_sums;
    launch(from, output.mutable_data_ptr<float>(), pooling,
        input.size(0) * input.size(1) * out_height, at::cuda::getCurrentCUDAStream());
    return output;
}
"""

extension = load_inline(
    name="avgpool2d_wide_rows",
    cpp_sources=CPP_SOURCE,
    cuda_sources=CUDA_SOURCE,
    functions=["avg_pool2d"],
)


class ModelNew(nn.Module):
    """Average pooling by the kernels above, for float32 tensors in NCHW layout."""

    def __init__(self, kernel_size: int, stride: int | None = None, padding: int = 0) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding = padding

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return extension.avg_pool2d(x, self.kernel_size, self.stride, self.padding)
