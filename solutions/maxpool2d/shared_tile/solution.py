"""Max pooling through shared memory: first along the rows of a tile, then along its columns."""

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

constexpr int kThreadsX = 32;
constexpr int kThreadsY = 8;
constexpr int64_t kSharedBytes = 48 * 1024;  // what a block gets without asking for more

struct Pooling {
    int height, width, out_height, out_width;
    int kernel_size, stride, padding, dilation;
    int tile_height, tile_width;    // outputs of a block
    int patch_height, patch_width;  // inputs under the windows of these outputs
    int tiles_y, tiles_x;           // tiles of a plane
};

// fmaxf would drop a NaN; torch lets it win.
__device__ float larger(float best, float value)
{
    return value > best || value != value ? value : best;
}

__global__ void max_pool2d_kernel(
    const float* __restrict__ input, float* __restrict__ output, Pooling p)
{
    extern __shared__ float shared[];
    float* patch = shared;                                      // patch_height x patch_width
    float* row_maxima = shared + p.patch_height * p.patch_width;  // patch_height x tile_width

    const int tile_x = blockIdx.x % p.tiles_x;
    const int tile_y = blockIdx.x / p.tiles_x % p.tiles_y;
    const int plane = blockIdx.x / p.tiles_x / p.tiles_y;
    input += static_cast<int64_t>(plane) * p.height * p.width;
    output += static_cast<int64_t>(plane) * p.out_height * p.out_width;
    const int top = tile_y * p.tile_height * p.stride - p.padding;
    const int left = tile_x * p.tile_width * p.stride - p.padding;

    // 1. Every input of the patch is read from global memory once. What lies outside of the image
    //    becomes minus infinity, so that the steps below need no bounds.
    for (int row = threadIdx.y; row < p.patch_height; row += kThreadsY) {
        const int y = top + row;
        for (int column = threadIdx.x; column < p.patch_width; column += kThreadsX) {
            const int x = left + column;
            const bool inside = y >= 0 && y < p.height && x >= 0 && x < p.width;
            patch[row * p.patch_width + column] = inside ? input[y * p.width + x] : -INFINITY;
        }
    }
    __syncthreads();

    // 2. The maximum over a window is the maximum over its rows' maxima, and windows one above the
    //    other share rows: two passes of kernel_size steps replace kernel_size squared ones.
    for (int row = threadIdx.y; row < p.patch_height; row += kThreadsY) {
        for (int column = threadIdx.x; column < p.tile_width; column += kThreadsX) {
            const float* window = patch + row * p.patch_width + column * p.stride;
            float best = -INFINITY;
            for (int k = 0; k < p.kernel_size; ++k) best = larger(best, window[k * p.dilation]);
            row_maxima[row * p.tile_width + column] = best;
        }
    }
    __syncthreads();

    // 3. Down the columns. No barrier follows, so threads beyond the edge may skip their work.
    for (int row = threadIdx.y; row < p.tile_height; row += kThreadsY) {
        const int out_y = tile_y * p.tile_height + row;
        for (int column = threadIdx.x; column < p.tile_width; column += kThreadsX) {
            const int out_x = tile_x * p.tile_width + column;
            if (out_y >= p.out_height || out_x >= p.out_width) continue;
            float best = -INFINITY;
            for (int k = 0; k < p.kernel_size; ++k) {
                const int patch_row = row * p.stride + k * p.dilation;
                best = larger(best, row_maxima[patch_row * p.tile_width + column]);
            }
            output[out_y * p.out_width + out_x] = best;
        }
    }
}

int64_t shared_bytes(const Pooling& p)
{
    return static_cast<int64_t>(p.patch_height) * (p.patch_width + p.tile_width) * sizeof(float);
}

// The largest tile whose inputs fit in shared memory: wide strides and windows get smaller tiles.
void choose_tile(Pooling& p, int64_t reach)
{
    p.tile_height = 32;
    p.tile_width = 64;
    while (true) {
        const int64_t patch_height = static_cast<int64_t>(p.tile_height - 1) * p.stride + reach;
        const int64_t patch_width = static_cast<int64_t>(p.tile_width - 1) * p.stride + reach;
        if (std::max(patch_height, patch_width) <= kSharedBytes) {
            p.patch_height = static_cast<int>(patch_height);
            p.patch_width = static_cast<int>(patch_width);
            if (shared_bytes(p) <= kSharedBytes) break;
        }
        TORCH_CHECK(p.tile_height > 1 || p.tile_width > 1,
            "max_pool2d: not even one window fits in shared memory (it spans ", reach, " inputs)");
        if (p.tile_height >= p.tile_width) p.tile_height /= 2; else p.tile_width /= 2;
    }
    p.tiles_y = (p.out_height + p.tile_height - 1) / p.tile_height;
    p.tiles_x = (p.out_width + p.tile_width - 1) / p.tile_width;
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
    TORCH_CHECK(height * width <= INT_MAX && out_height * out_width <= INT_MAX,
        "max_pool2d: a single plane is too large for 32-bit indices");

    const c10::cuda::CUDAGuard guard(input.device());
    input = input.contiguous();
    auto output =
        torch::empty({input.size(0), input.size(1), out_height, out_width}, input.options());
    if (output.numel() == 0) return output;

    Pooling pooling{
        static_cast<int>(height), static_cast<int>(width),
        static_cast<int>(out_height), static_cast<int>(out_width),
        static_cast<int>(kernel_size), static_cast<int>(stride),
        static_cast<int>(padding), static_cast<int>(dilation)};
    choose_tile(pooling, reach);
    const int64_t blocks = input.size(0) * input.size(1) * pooling.tiles_y * pooling.tiles_x;
    // Everything in the grid's x dimension: y and z end at 65535.
    TORCH_CHECK(blocks <= INT_MAX, "max_pool2d: too many blocks for one launch; split the batch");
    max_pool2d_kernel<<<static_cast<int>(blocks), dim3(kThreadsX, kThreadsY), shared_bytes(pooling),
        at::cuda::getCurrentCUDAStream()>>>(
        input.const_data_ptr<float>(), output.mutable_data_ptr<float>(), pooling);
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return output;
}
"""

extension = load_inline(
    name="maxpool2d_shared_tile",
    cpp_sources=CPP_SOURCE,
    cuda_sources=CUDA_SOURCE,
    functions=["max_pool2d"],
)


class ModelNew(nn.Module):
    """Max pooling by the kernel above, for float32 tensors in NCHW layout."""

    def __init__(self, kernel_size: int, stride: int, padding: int, dilation: int) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = stride
        self.padding = padding
        self.dilation = dilation

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return extension.max_pool2d(x, self.kernel_size, self.stride, self.padding, self.dilation)
