"""Max pooling in registers: a warp slides down a strip of rows and keeps the maxima so far."""

import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

CPP_SOURCE = """
torch::Tensor max_pool2d(
    torch::Tensor input, int64_t kernel_size, int64_t stride, int64_t padding, int64_t dilation);
"""

CUDA_SOURCE = r"""
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <torch/types.h>

#include <algorithm>
#include <climits>
#include <cmath>

struct Pooling {
    int height, width, out_height, out_width;
    int kernel_size, stride, padding, dilation;
};

// fmaxf would drop a NaN; torch lets it win.
__device__ __forceinline__ float larger(float a, float b)
{
    return a > b || a != a ? a : b;
}

// Windows of kernel_size 2 to 4 that move by one: each row is loaded once per strip.

constexpr int kWarps = 4;   // of a block; each works on a strip of its own
constexpr int kBlocks = 4;  // of an SM at least: leaves 128 registers a thread, which suffice
constexpr int kChunks = 16;
constexpr int kStripWidth = 32 * kChunks;  // outputs; lane l has the columns l, l + 32, l + 64 ...
constexpr int kStripRows = 16;  // of outputs; 32 are 1 % slower, 48 2 %
constexpr unsigned kAllLanes = 0xffffffff;

// What stands kStep columns further to the right: in another lane, for the last lanes also in the
// next chunk.
template <int kStep>
__device__ __forceinline__ float from_right(float own, float next_chunk, int lane)
{
    return __shfl_sync(kAllLanes, lane < kStep ? next_chunk : own, (lane + kStep) % 32);
}

// values[c] becomes the maximum over the kSize columns from its own to the right. The span that it
// covers doubles with each step. The last chunk only feeds the one before it.
template <int kSize, int kSpan = 1>
__device__ __forceinline__ void maxima_along_row(float (&values)[kChunks + 1], int lane)
{
    if constexpr (kSpan < kSize) {
        constexpr int kStep = kSize - kSpan < kSpan ? kSize - kSpan : kSpan;
        #pragma unroll
        for (int c = 0; c < kChunks; ++c) {
            values[c] = larger(values[c], from_right<kStep>(values[c], values[c + 1], lane));
        }
        if constexpr (kSpan + kStep < kSize) {
            values[kChunks] =
                larger(values[kChunks], from_right<kStep>(values[kChunks], values[kChunks], lane));
        }
        maxima_along_row<kSize, kSpan + kStep>(values, lane);
    }
}

template <int kSize>
__global__ void __launch_bounds__(32 * kWarps, kBlocks) sliding_max_kernel(
    const float* __restrict__ input, float* __restrict__ output, Pooling p,
    int strips_x, int strips_y, int strips)
{
    const int lane = threadIdx.x % 32;
    const int strip = blockIdx.x * kWarps + threadIdx.x / 32;
    if (strip >= strips) return;
    const int strip_x = strip % strips_x;
    const int strip_y = strip / strips_x % strips_y;
    const int64_t plane = strip / strips_x / strips_y;
    const int out_x = strip_x * kStripWidth + lane;
    const int x = out_x - p.padding;
    input += plane * p.height * p.width;
    output += plane * p.out_height * p.out_width;

    // Both users of the rows at a border between strips start from it, or both arrive there: close
    // enough in time that the second finds them in L2. Where all slide down, DRAM delivers these
    // rows twice (2 % of the time, measured with strips of 64 rows).
    const bool up = strip_y % 2 == 0;
    const int direction = up ? -1 : 1;
    const int first_row = strip_y * kStripRows;
    const int end_row = min(first_row + kStripRows, p.out_height);
    const int steps = end_row - first_row + kSize - 1;  // the first kSize - 1 complete no window
    const int start_y = (up ? end_row + kSize - 2 : first_row) - p.padding;
    const int start_out_y = up ? end_row + kSize - 2 : first_row - (kSize - 1);
    float* output_row = output + static_cast<int64_t>(start_out_y) * p.out_width + out_x;

    // Columns outside of the image are never loaded: what stands for them stays minus infinity.
    // Rows outside of it are replaced by the nearest row inside. Since padding is at most half of
    // kernel_size, windows that reach over the edge hold that row anyway, and a row counted twice
    // changes no maximum.
    float row[kChunks + 1];
    #pragma unroll
    for (int c = 0; c <= kChunks; ++c) row[c] = -INFINITY;
    auto load_row = [&](int y) {
        const float* input_row = input + (max(0, min(y, p.height - 1)) * p.width + x);
        if (x >= 0 && x < p.width) row[0] = *input_row;
        #pragma unroll
        for (int c = 1; c <= kChunks; ++c) {
            if (32 * c < p.width - x) row[c] = input_row[32 * c];
        }
    };

    // maxima[k] covers the k + 1 latest rows. Each new row makes maxima[k] out of maxima[k - 1],
    // which takes as many steps as a window has rows, and no row needs to be kept.
    float maxima[kSize - 1][kChunks];
    #pragma unroll
    for (int k = 0; k < kSize - 1; ++k) {
        #pragma unroll
        for (int c = 0; c < kChunks; ++c) maxima[k][c] = -INFINITY;
    }

    load_row(start_y);
    for (int step = 0; step < steps; ++step, output_row += direction * p.out_width) {
        float values[kChunks + 1];
        #pragma unroll
        for (int c = 0; c <= kChunks; ++c) values[c] = row[c];
        // On its way while this row is worked on. The one after the last is loaded in vain.
        load_row(start_y + (step + 1) * direction);
        maxima_along_row<kSize>(values, lane);

        const int outputs_left = step >= kSize - 1 ? p.out_width - out_x : 0;
        #pragma unroll
        for (int c = 0; c < kChunks; ++c) {
            const float best = larger(maxima[kSize - 2][c], values[c]);
            #pragma unroll
            for (int k = kSize - 2; k > 0; --k) maxima[k][c] = larger(maxima[k - 1][c], values[c]);
            maxima[0][c] = values[c];
            if (32 * c < outputs_left) output_row[32 * c] = best;
        }
    }
}

template <int kSize>
void launch_sliding(
    const float* input, float* output, const Pooling& p, int64_t planes, cudaStream_t stream)
{
    const int strips_x = (p.out_width + kStripWidth - 1) / kStripWidth;
    const int strips_y = (p.out_height + kStripRows - 1) / kStripRows;
    const int64_t strips = planes * strips_x * strips_y;
    TORCH_CHECK(strips <= INT_MAX - kWarps,
        "max_pool2d: too many blocks for one launch; split the batch");
    sliding_max_kernel<kSize>
        <<<static_cast<int>((strips + kWarps - 1) / kWarps), 32 * kWarps, 0, stream>>>(
            input, output, p, strips_x, strips_y, static_cast<int>(strips));
    C10_CUDA_KERNEL_LAUNCH_CHECK();
}

// All other windows: a thread per output.

constexpr int kGeneralThreads = 256;

__global__ void general_max_kernel(
    const float* __restrict__ input, float* __restrict__ output, Pooling p, int blocks_per_plane)
{
    const int plane = blockIdx.x / blocks_per_plane;
    const int pixel = (blockIdx.x % blocks_per_plane) * kGeneralThreads + threadIdx.x;
    if (pixel >= p.out_height * p.out_width) return;
    input += static_cast<int64_t>(plane) * p.height * p.width;
    output += static_cast<int64_t>(plane) * p.out_height * p.out_width;

    const int top = (pixel / p.out_width) * p.stride - p.padding;
    const int left = (pixel % p.out_width) * p.stride - p.padding;
    float best = -INFINITY;
    for (int ky = 0; ky < p.kernel_size; ++ky) {
        const int y = top + ky * p.dilation;
        if (y < 0 || y >= p.height) continue;
        for (int kx = 0; kx < p.kernel_size; ++kx) {
            const int x = left + kx * p.dilation;
            if (x >= 0 && x < p.width) best = larger(best, input[y * p.width + x]);
        }
    }
    output[pixel] = best;
}

void launch_general(
    const float* input, float* output, const Pooling& p, int64_t planes, cudaStream_t stream)
{
    const int blocks_per_plane =
        (p.out_height * p.out_width + kGeneralThreads - 1) / kGeneralThreads;
    TORCH_CHECK(planes * blocks_per_plane <= INT_MAX,
        "max_pool2d: too many blocks for one launch; split the batch");
    general_max_kernel
        <<<static_cast<int>(planes * blocks_per_plane), kGeneralThreads, 0, stream>>>(
            input, output, p, blocks_per_plane);
    C10_CUDA_KERNEL_LAUNCH_CHECK();
}

torch::Tensor max_pool2d(
    torch::Tensor input, int64_t kernel_size, int64_t stride, int64_t padding, int64_t dilation)
{
    TORCH_CHECK(input.is_cuda(),
        "max_pool2d: input must be on a CUDA device, not ", input.device());
    TORCH_CHECK(input.scalar_type() == torch::kFloat32,
        "max_pool2d: input must be float32, not ", input.scalar_type());
    TORCH_CHECK(input.dim() == 4, "max_pool2d: input must have 4 dimensions, not ", input.dim());
    TORCH_CHECK(kernel_size > 0 && stride > 0 && dilation > 0,
        "max_pool2d: kernel_size, stride and dilation must be positive");
    TORCH_CHECK(padding >= 0 && padding <= kernel_size / 2,
        "max_pool2d: padding must lie between 0 and half of kernel_size, not at ", padding);

    const int64_t planes = input.size(0) * input.size(1);
    const int64_t height = input.size(2), width = input.size(3);
    TORCH_CHECK(height > 0 && width > 0, "max_pool2d: height and width must not be 0");
    const int64_t longest = std::max(height, width) + 2 * padding;
    TORCH_CHECK(longest <= INT_MAX / 2,
        "max_pool2d: height and width are too large for 32-bit indices");
    // Cut to what is too large anyway, so that nothing wraps.
    dilation = kernel_size == 1 ? 1 : std::min(dilation, longest);
    const int64_t reach = dilation * (std::min(kernel_size, longest + 1) - 1) + 1;
    TORCH_CHECK(reach <= height + 2 * padding && reach <= width + 2 * padding,
        "max_pool2d: the window is larger than the padded input");
    stride = std::min(stride, longest);  // beyond it there is but one output
    const int64_t out_height = (height + 2 * padding - reach) / stride + 1;
    const int64_t out_width = (width + 2 * padding - reach) / stride + 1;
    // Leaves room for the indices of threads beyond the edge, which do nothing with them.
    constexpr int64_t kMaxPlane = INT_MAX - 2 * kStripWidth;
    TORCH_CHECK(height * width <= kMaxPlane && out_height * out_width <= kMaxPlane,
        "max_pool2d: a single plane is too large for 32-bit indices");

    const c10::cuda::CUDAGuard guard(input.device());
    input = input.contiguous();
    auto output =
        torch::empty({input.size(0), input.size(1), out_height, out_width}, input.options());
    if (output.numel() == 0) return output;

    const Pooling pooling{
        static_cast<int>(height), static_cast<int>(width),
        static_cast<int>(out_height), static_cast<int>(out_width),
        static_cast<int>(kernel_size), static_cast<int>(stride),
        static_cast<int>(padding), static_cast<int>(dilation)};
    const bool slides = stride == 1 && dilation == 1 && kernel_size >= 2 && kernel_size <= 4;
    const auto launch = !slides ? launch_general
        : kernel_size == 2 ? launch_sliding<2>
        : kernel_size == 3 ? launch_sliding<3> : launch_sliding<4>;
    launch(input.const_data_ptr<float>(), output.mutable_data_ptr<float>(), pooling, planes,
        at::cuda::getCurrentCUDAStream());
    return output;
}
"""

extension = load_inline(
    name="maxpool2d_sliding_rows",
    cpp_sources=CPP_SOURCE,
    cuda_sources=CUDA_SOURCE,
    functions=["max_pool2d"],
)


class ModelNew(nn.Module):
    """Max pooling by the kernels above, for float32 tensors in NCHW layout."""

    def __init__(self, kernel_size: int, stride: int, padding: int, dilation: int) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = stride
        self.padding = padding
        self.dilation = dilation

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return extension.max_pool2d(x, self.kernel_size, self.stride, self.padding, self.dilation)
