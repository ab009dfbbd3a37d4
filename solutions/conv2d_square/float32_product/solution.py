"""Convolution in strict float32: 3 x 3 kernels unrolled, 128 sums a thread in registers."""

import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

CPP_SOURCE = """
torch::Tensor conv2d(
    torch::Tensor input, torch::Tensor weight, std::optional<torch::Tensor> bias,
    std::vector<int64_t> stride, std::vector<int64_t> padding, std::vector<int64_t> dilation,
    int64_t groups);
"""

CUDA_SOURCE = r"""
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <torch/types.h>

#include <algorithm>
#include <climits>
#include <cstdint>
#include <optional>
#include <vector>

// The kernel for which the loops are unrolled, with stride, dilation and groups of 1.
constexpr int kKernelY = 3, kKernelX = 3, kTaps = kKernelY * kKernelX;

// A thread owns 8 output channels of 4 x 4 pixels. Its multiply-adds take 8 weights and a window of
// pixels from shared memory, 38 for each load: the issue slots that loads take from the
// multiply-adds are what is lost.
constexpr int kThreadChannels = 8, kThreadRows = 4, kThreadColumns = 4;
constexpr int kWarps = 8, kThreads = 32 * kWarps;
// The warps of a block own different channels: all lanes of a warp read the same weights, a
// broadcast. The lanes own a row of 128 pixels, and read them free of bank conflicts.
constexpr int kChannels = kWarps * kThreadChannels, kRows = kThreadRows;
constexpr int kColumns = 32 * kThreadColumns;
constexpr int kWindowColumns = (kThreadColumns + kKernelX - 1 + 3) / 4 * 4;
constexpr int kPatchRows = kRows + kKernelY - 1;
constexpr int kPatchColumns = kColumns - kThreadColumns + kWindowColumns;

// A stage is one input channel, and there are two in shared memory: one is computed while the next
// is on its way.
constexpr int kPatchSize = kPatchRows * kPatchColumns;
constexpr int kWeightsSize = kTaps * kChannels;

constexpr int kPlainThreads = 256;

// What one axis of the image needs to know.
struct Axis {
    int size, out_size, kernel, stride, padding, dilation;
};

struct Convolution {
    Axis y, x;
    int groups, group_inputs, group_outputs;  // channels per group
    int tiles_y, tiles_x, tiles_channel;
    int blocks_per_plane;  // of the plain kernel
};

struct Stage {
    float patch[kPatchSize];      // [y][x], zeros beyond the image
    float weights[kWeightsSize];  // [tap][output]
};

// prepared[channel tile][input][tap][output], zeros beyond the output channels.
__global__ void prepare_weights(
    const float* __restrict__ weight, float* __restrict__ prepared, int inputs, int outputs,
    int64_t size)
{
    const int64_t index = static_cast<int64_t>(blockIdx.x) * kPlainThreads + threadIdx.x;
    if (index >= size) return;
    int64_t rest = index / kChannels;
    const int tap = static_cast<int>(rest % kTaps);
    rest /= kTaps;
    const int input = static_cast<int>(rest % inputs);
    const int64_t output = rest / inputs * kChannels + index % kChannels;
    prepared[index] =
        output < outputs ? weight[(output * inputs + input) * kTaps + tap] : 0.0f;
}

// Copies a unit to shared memory in the background, or zeros.
// PTX ISA: Data Movement and Conversion Instructions, cp.async.
template <typename Unit>
__device__ void copy_async(float* target, const float* source, bool is_inside)
{
    const uint32_t address = static_cast<uint32_t>(__cvta_generic_to_shared(target));
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;"
        :: "r"(address), "l"(source), "n"(sizeof(Unit)),
           "r"(is_inside ? static_cast<int>(sizeof(Unit)) : 0) : "memory");
}

__device__ void wait_for_copies()
{
    asm volatile("cp.async.wait_all;" ::: "memory");
}

// Copies one channel of the patch and its weights; a unit is float4 where rows lie aligned.
template <typename Unit>
__device__ void copy_stage(
    Stage& stage, const int* offsets, const float* channel, const float* weights)
{
    constexpr int kWidth = sizeof(Unit) / sizeof(float);
    // Counted from 0, the loops unroll.
#pragma unroll
    for (int first = 0; first < kPatchSize / kWidth; first += kThreads) {
        const int unit = first + threadIdx.x;
        if (unit >= kPatchSize / kWidth) break;
        const int offset = offsets[unit];
        copy_async<Unit>(stage.patch + unit * kWidth, channel + max(offset, 0), offset >= 0);
    }
#pragma unroll
    for (int first = 0; first < kWeightsSize / 4; first += kThreads) {
        const int quad = first + threadIdx.x;
        if (quad >= kWeightsSize / 4) break;
        copy_async<float4>(stage.weights + quad * 4, weights + quad * 4, true);
    }
}

using Sums = float[kThreadChannels][kThreadRows][kThreadColumns];

// Adds the products of one input channel.
__device__ void multiply_add(Sums& sums, const float* weights, const float* window)
{
    float pixels[kPatchRows][kWindowColumns];
#pragma unroll
    for (int row = 0; row < kPatchRows; ++row) {
#pragma unroll
        for (int column = 0; column < kWindowColumns; column += 4) {
            const float4 quad =
                *reinterpret_cast<const float4*>(window + row * kPatchColumns + column);
            pixels[row][column] = quad.x;
            pixels[row][column + 1] = quad.y;
            pixels[row][column + 2] = quad.z;
            pixels[row][column + 3] = quad.w;
        }
    }
#pragma unroll
    for (int tap = 0; tap < kTaps; ++tap) {
        const float4* quads = reinterpret_cast<const float4*>(weights + tap * kChannels);
        const float4 low = quads[0], high = quads[1];
        const float factors[kThreadChannels] = {
            low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
#pragma unroll
        for (int row = 0; row < kThreadRows; ++row) {
#pragma unroll
            for (int column = 0; column < kThreadColumns; ++column) {
                const float pixel = pixels[row + tap / kKernelX][column + tap % kKernelX];
#pragma unroll
                for (int channel = 0; channel < kThreadChannels; ++channel) {
                    sums[channel][row][column] += factors[channel] * pixel;
                }
            }
        }
    }
}

template <typename Unit>
__global__ void __launch_bounds__(kThreads, 1) outer_products(
    const float* __restrict__ input, const float* __restrict__ prepared,
    const float* __restrict__ bias, float* __restrict__ output, Convolution c)
{
    constexpr int kWidth = sizeof(Unit) / sizeof(float);
    constexpr int kUnits = kPatchSize / kWidth;
    __shared__ alignas(16) Stage stages[2];
    __shared__ int offsets[kUnits];  // in an input channel, -1 beyond

    // Blocks that differ in their output channels alone are neighbours: they share a patch in L2.
    int block = blockIdx.x;
    const int tile_channel = block % c.tiles_channel;
    block /= c.tiles_channel;
    const int tile_x = block % c.tiles_x;
    block /= c.tiles_x;
    const int tile_y = block % c.tiles_y;
    const int image = block / c.tiles_y;

    const int64_t channel_size = static_cast<int64_t>(c.y.size) * c.x.size;
    const float* channel = input + static_cast<int64_t>(image) * c.group_inputs * channel_size;
    const float* channel_weights =
        prepared + static_cast<int64_t>(tile_channel) * c.group_inputs * kWeightsSize;
    for (int unit = threadIdx.x; unit < kUnits; unit += kThreads) {
        const int y = tile_y * kRows - c.y.padding + unit / (kPatchColumns / kWidth);
        const int x =
            tile_x * kColumns - c.x.padding + unit % (kPatchColumns / kWidth) * kWidth;
        const bool is_inside = y >= 0 && y < c.y.size && x >= 0 && x < c.x.size;
        offsets[unit] = is_inside ? y * c.x.size + x : -1;
    }
    __syncthreads();
    copy_stage<Unit>(stages[0], offsets, channel, channel_weights);
    wait_for_copies();
    __syncthreads();

    const int lane = threadIdx.x % 32;
    const int warp = threadIdx.x / 32;
    Sums sums = {};
    for (int i = 0; i < c.group_inputs; ++i) {
        if (i + 1 < c.group_inputs) {
            channel += channel_size;
            channel_weights += kWeightsSize;
            copy_stage<Unit>(stages[(i + 1) % 2], offsets, channel, channel_weights);
        }
        const Stage& stage = stages[i % 2];
        multiply_add(
            sums, stage.weights + warp * kThreadChannels, stage.patch + lane * kThreadColumns);
        wait_for_copies();
        __syncthreads();
    }

    const int x = tile_x * kColumns + lane * kThreadColumns;
    // Pairs of neighbours in a row lie aligned if rows are even.
    const bool is_even = c.x.out_size % 2 == 0;
#pragma unroll
    for (int channel = 0; channel < kThreadChannels; ++channel) {
        const int out = tile_channel * kChannels + warp * kThreadChannels + channel;
        if (out >= c.group_outputs) break;
        const float offset = bias == nullptr ? 0.0f : bias[out];
        const int64_t plane = static_cast<int64_t>(image) * c.group_outputs + out;
#pragma unroll
        for (int row = 0; row < kThreadRows; ++row) {
            const int y = tile_y * kRows + row;
            if (y >= c.y.out_size) break;
            float* pixels = output + (plane * c.y.out_size + y) * c.x.out_size + x;
#pragma unroll
            for (int column = 0; column < kThreadColumns; column += 2) {
                const float first = sums[channel][row][column] + offset;
                const float second = sums[channel][row][column + 1] + offset;
                if (is_even) {
                    if (x + column < c.x.out_size) {
                        *reinterpret_cast<float2*>(pixels + column) = make_float2(first, second);
                    }
                } else {
                    if (x + column < c.x.out_size) pixels[column] = first;
                    if (x + column + 1 < c.x.out_size) pixels[column + 1] = second;
                }
            }
        }
    }
}

// ---- all other parameters ---------------------------------------------------------------------

// One thread per output.
__global__ void plain_convolution(
    const float* __restrict__ input, const float* __restrict__ weight,
    const float* __restrict__ bias, float* __restrict__ output, Convolution c)
{
    // A block stays inside one output plane, so its threads share the filter.
    const int plane = blockIdx.x / c.blocks_per_plane;
    const int pixel = (blockIdx.x % c.blocks_per_plane) * kPlainThreads + threadIdx.x;
    if (pixel >= c.y.out_size * c.x.out_size) return;
    const int out_channels = c.groups * c.group_outputs;
    const int out_channel = plane % out_channels;
    const int top = (pixel / c.x.out_size) * c.y.stride - c.y.padding;
    const int left = (pixel % c.x.out_size) * c.x.stride - c.x.padding;

    const int64_t channel_size = static_cast<int64_t>(c.y.size) * c.x.size;
    const int64_t group =
        static_cast<int64_t>(plane / out_channels) * c.groups + out_channel / c.group_outputs;
    const float* channel = input + group * c.group_inputs * channel_size;
    const int taps = c.y.kernel * c.x.kernel;
    const float* filter = weight + static_cast<int64_t>(out_channel) * c.group_inputs * taps;

    float sum = bias == nullptr ? 0.0f : bias[out_channel];
    for (int i = 0; i < c.group_inputs; ++i) {
        for (int ky = 0; ky < c.y.kernel; ++ky) {
            const int y = top + ky * c.y.dilation;
            for (int kx = 0; kx < c.x.kernel; ++kx) {
                const int x = left + kx * c.x.dilation;
                if (y >= 0 && y < c.y.size && x >= 0 && x < c.x.size) {
                    sum += channel[static_cast<int64_t>(y) * c.x.size + x] *
                        filter[ky * c.x.kernel + kx];
                }
            }
        }
        channel += channel_size;
        filter += taps;
    }
    const int64_t plane_size = static_cast<int64_t>(c.y.out_size) * c.x.out_size;
    output[plane * plane_size + pixel] = sum;
}

// ---- host -------------------------------------------------------------------------------------

Axis make_axis(
    const char* name, int64_t size, int64_t kernel, int64_t stride, int64_t padding,
    int64_t dilation)
{
    TORCH_CHECK(stride > 0 && dilation > 0 && padding >= 0,
        "conv2d: ", name, " needs a positive stride and dilation and no negative padding");
    const int64_t padded = size + 2 * padding;
    // Leaves room for the pixels of a tile that lie beyond the image.
    TORCH_CHECK(
        padded <= INT_MAX / 2, "conv2d: the padded ", name, " is too large for 32-bit indices");
    dilation = kernel == 1 ? 1 : std::min(dilation, padded);
    const int64_t span = padded - dilation * (kernel - 1) - 1;
    TORCH_CHECK(span >= 0, "conv2d: the kernel's ", name, " is larger than the padded input's");
    const int64_t out_size = span / stride + 1;
    if (out_size == 1) stride = 1;  // it is never taken
    return {static_cast<int>(size), static_cast<int>(out_size), static_cast<int>(kernel),
        static_cast<int>(stride), static_cast<int>(padding), static_cast<int>(dilation)};
}

void check_tensors(
    const torch::Tensor& input, const torch::Tensor& weight,
    const std::optional<torch::Tensor>& bias, int64_t groups)
{
    TORCH_CHECK(input.is_cuda(), "conv2d: input must be on a CUDA device, not ", input.device());
    TORCH_CHECK(weight.device() == input.device(),
        "conv2d: weight is on ", weight.device(), ", input on ", input.device());
    TORCH_CHECK(input.scalar_type() == torch::kFloat32 && weight.scalar_type() == torch::kFloat32,
        "conv2d: input and weight must be float32, not ", input.scalar_type(), " and ",
        weight.scalar_type());
    TORCH_CHECK(input.dim() == 4 && weight.dim() == 4,
        "conv2d: input and weight must have 4 dimensions, not ", input.dim(), " and ",
        weight.dim());
    TORCH_CHECK(weight.numel() > 0, "conv2d: weight must not be empty");
    TORCH_CHECK(
        groups > 0 && input.size(1) == weight.size(1) * groups && weight.size(0) % groups == 0,
        "conv2d: ", groups, " groups fit neither ", input.size(1), " input channels nor weight ",
        weight.sizes());
    if (bias.has_value()) {
        TORCH_CHECK(
            bias->device() == input.device() && bias->scalar_type() == torch::kFloat32 &&
                bias->dim() == 1 && bias->size(0) == weight.size(0),
            "conv2d: bias must hold one float32 per output channel");
    }
}

int ceil_div(int a, int b) { return (a + b - 1) / b; }

// Everything in the grid's x dimension: y and z end at 65535.
int grid(int64_t blocks)
{
    TORCH_CHECK(blocks <= INT_MAX, "conv2d: too many blocks for one launch; split the batch");
    return static_cast<int>(blocks);
}

bool is_tuned_for(const Convolution& c)
{
    return c.y.kernel == kKernelY && c.x.kernel == kKernelX && c.y.stride == 1 &&
        c.x.stride == 1 && c.y.dilation == 1 && c.x.dilation == 1 && c.groups == 1;
}

void launch_outer_products(
    const torch::Tensor& input, const torch::Tensor& weight, const float* bias,
    torch::Tensor& output, Convolution& c)
{
    const auto stream = at::cuda::getCurrentCUDAStream();
    c.tiles_y = ceil_div(c.y.out_size, kRows);
    c.tiles_x = ceil_div(c.x.out_size, kColumns);
    c.tiles_channel = ceil_div(c.group_outputs, kChannels);
    const int64_t size = static_cast<int64_t>(c.tiles_channel) * c.group_inputs * kWeightsSize;
    const auto prepared = torch::empty({size}, input.options());
    prepare_weights<<<grid((size + kPlainThreads - 1) / kPlainThreads), kPlainThreads, 0, stream>>>(
        weight.const_data_ptr<float>(), prepared.mutable_data_ptr<float>(), c.group_inputs,
        c.group_outputs, size);
    C10_CUDA_KERNEL_LAUNCH_CHECK();

    // Rows of the patch that start at a multiple of 16 bytes move as float4.
    const bool is_aligned = c.x.size % 4 == 0 && c.x.padding % 4 == 0 &&
        reinterpret_cast<uintptr_t>(input.const_data_ptr<float>()) % 16 == 0;
    const auto kernel = is_aligned ? outer_products<float4> : outer_products<float>;
    const int64_t blocks = input.size(0) * c.tiles_y * c.tiles_x * c.tiles_channel;
    kernel<<<grid(blocks), kThreads, 0, stream>>>(input.const_data_ptr<float>(),
        prepared.const_data_ptr<float>(), bias, output.mutable_data_ptr<float>(), c);
    C10_CUDA_KERNEL_LAUNCH_CHECK();
}

torch::Tensor conv2d(
    torch::Tensor input, torch::Tensor weight, std::optional<torch::Tensor> bias,
    std::vector<int64_t> stride, std::vector<int64_t> padding, std::vector<int64_t> dilation,
    int64_t groups)
{
    check_tensors(input, weight, bias, groups);
    TORCH_CHECK(stride.size() == 2 && padding.size() == 2 && dilation.size() == 2,
        "conv2d: stride, padding and dilation are pairs");
    Convolution c = {};
    c.y = make_axis("height", input.size(2), weight.size(2), stride[0], padding[0], dilation[0]);
    c.x = make_axis("width", input.size(3), weight.size(3), stride[1], padding[1], dilation[1]);
    c.groups = static_cast<int>(groups);
    c.group_inputs = static_cast<int>(weight.size(1));
    c.group_outputs = static_cast<int>(weight.size(0) / groups);
    const int64_t out_plane = static_cast<int64_t>(c.y.out_size) * c.x.out_size;
    // Leaves room for the threads of a plane's last block that lie beyond it.
    TORCH_CHECK(input.size(2) * input.size(3) <= INT_MAX && out_plane <= INT_MAX - kPlainThreads,
        "conv2d: a single plane is too large for 32-bit indices");

    const c10::cuda::CUDAGuard guard(input.device());
    input = input.contiguous();
    weight = weight.contiguous();
    if (bias.has_value()) bias = bias->contiguous();
    auto output =
        torch::empty({input.size(0), weight.size(0), c.y.out_size, c.x.out_size}, input.options());
    if (output.numel() == 0) return output;
    const float* bias_data = bias.has_value() ? bias->const_data_ptr<float>() : nullptr;
    if (is_tuned_for(c)) {
        launch_outer_products(input, weight, bias_data, output, c);
        return output;
    }
    c.blocks_per_plane =
        static_cast<int>((out_plane + kPlainThreads - 1) / kPlainThreads);
    const int blocks = grid(input.size(0) * weight.size(0) * c.blocks_per_plane);
    plain_convolution<<<blocks, kPlainThreads, 0, at::cuda::getCurrentCUDAStream()>>>(
        input.const_data_ptr<float>(), weight.const_data_ptr<float>(), bias_data,
        output.mutable_data_ptr<float>(), c);
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return output;
}
"""

extension = load_inline(
    name="conv2d_square_float32_product",
    cpp_sources=CPP_SOURCE,
    cuda_sources=CUDA_SOURCE,
    functions=["conv2d"],
)


class ModelNew(nn.Module):
    """Convolution by the kernels above, for float32 tensors in NCHW layout."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int,
        stride: int = 1,
        padding: int = 0,
        dilation: int = 1,
        groups: int = 1,
        bias: bool = False,
    ) -> None:
        super().__init__()
        # Never called: it holds the parameters, under the names that the reference gives them.
        self.conv2d = nn.Conv2d(
            in_channels,
            out_channels,
            kernel_size,
            stride=stride,
            padding=padding,
            dilation=dilation,
            groups=groups,
            bias=bias,
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        conv = self.conv2d
        return extension.conv2d(
            x, conv.weight, conv.bias, conv.stride, conv.padding, conv.dilation, conv.groups
        )
