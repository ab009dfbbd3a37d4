"""Max pooling, one thread per output."""

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

constexpr int kThreads = 256;

struct Pooling {
    int height, width, out_height, out_width;
    int kernel_size, stride, padding, dilation;
};

__global__ void max_pool2d_kernel(
    const float* __restrict__ input, float* __restrict__ output, Pooling p, int blocks_per_plane)
{
    // A block stays inside one plane (a channel of an image): the one division that 64 bits would
    // make slow is done per block, and inside a plane 32-bit indices do.
    const int plane = blockIdx.x / blocks_per_plane;
    const int pixel = (blockIdx.x % blocks_per_plane) * kThreads + threadIdx.x;
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
            if (x < 0 || x >= p.width) continue;
            // Neighbouring threads read neighbouring addresses, and the 16 reads of one input by
            // the windows over it mostly meet in the L1 cache.
            const float value = input[y * p.width + x];
            // fmaxf would drop a NaN; torch lets it win.
            if (value > best || value != value) best = value;
        }
    }
    output[pixel] = best;
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
    // Leaves room for the threads of a plane's last block that lie beyond it.
    TORCH_CHECK(height * width <= INT_MAX && out_height * out_width <= INT_MAX - kThreads,
        "max_pool2d: a single plane is too large for 32-bit indices");

    const c10::cuda::CUDAGuard guard(input.device());
    input = input.contiguous();
    auto output =
        torch::empty({input.size(0), input.size(1), out_height, out_width}, input.options());
    if (output.numel() == 0) return output;

    const int64_t blocks_per_plane = (out_height * out_width + kThreads - 1) / kThreads;
    // Everything in the grid's x dimension: y and z end at 65535.
    TORCH_CHECK(planes * blocks_per_plane <= INT_MAX,
        "max_pool2d: too many blocks for one launch; split the batch");
    const Pooling pooling{
        static_cast<int>(height), static_cast<int>(width),
        static_cast<int>(out_height), static_cast<int>(out_width),
        static_cast<int>(kernel_size), static_cast<int>(stride),
        static_cast<int>(padding), static_cast<int>(dilation)};
    const int blocks = static_cast<int>(planes * blocks_per_plane);
    max_pool2d_kernel<<<blocks, kThreads, 0, at::cuda::getCurrentCUDAStream()>>>(
        input.const_data_ptr<float>(), output.mutable_data_ptr<float>(), pooling,
        static_cast<int>(blocks_per_plane));
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return output;
}
"""

extension = load_inline(
    name="maxpool2d_plain",
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
