"""Convolution in tf32 on Hopper's tensor cores (wgmma), stored in bulk copies."""

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

namespace {

// The convolution as a product of matrices, [channels x terms] x [terms x pixels], a term being one
// input channel under one tap. A block computes every second one of 128 output channels. Of its two
// teams of two warpgroups, a team walks down the image, and a warpgroup computes 64 channels of a
// strip of an output row: 136 pixels, two strips side by side. While one team multiplies, the other
// stages input or stores sums.
constexpr int kTeams = 2;
constexpr int kTeamWarps = 8;
constexpr int kTeamThreads = kTeamWarps * 32;
constexpr int kThreads = kTeams * kTeamThreads;
constexpr int kStrip = 136;
constexpr int kTeamPixels = 2 * kStrip;
constexpr int kChunkRows = 10;  // output rows that a team takes at a time
constexpr int kKernel = 3;
constexpr int kTaps = kKernel * kKernel;
constexpr int kQuads = 4;  // input channels come in fours: 16 bytes of one pixel
constexpr int kInputs = 4 * kQuads;
constexpr int kChannels = 64;      // of a block
constexpr int kSums = kStrip / 2;  // of a thread: kChannels x kStrip sums by 128 threads
// Strips begin and end where sectors of the output do, 32 bytes, which L2 writes whole. Two planes
// are whole sectors more often than one (2 x 1022 x 1022 floats are, 1022 x 1022 are not), and then
// all channels of a block begin at the same place: hence every second one.
constexpr int kSector = 8;  // floats
constexpr int kChannelStep = 2;

// Input rows wait in a ring of three. A row is [quad][pixel][4 channels]: wgmma's layout without
// swizzle, in which the pixels of a quad lie 16 bytes apart from first to last. So the window of
// the next tap is the same descriptor 16 bytes further on, and any pixel may be the first.
constexpr int kPixels = kSector + kTeamPixels + kKernel - 1;  // that a row needs
constexpr int kPassPixels = kTeamWarps / kQuads * 32;         // that a team loads at a time
constexpr int kPasses = (kPixels + kPassPixels - 1) / kPassPixels;
constexpr int kPlaneBytes = kPixels * 16;
constexpr int kRowBytes = kQuads * kPlaneBytes;
constexpr int kRingBytes = kKernel * kRowBytes;
// Weights are [tap][quad][64 channels][4 inputs], the same layout. They stay for good.
constexpr int kWeightPlaneBytes = kChannels * 16;
constexpr int kWeightBytes = kTaps * kQuads * kWeightPlaneBytes;
constexpr int kBiasBytes = kChannels * 4;
// Sums wait for the copy engine, 8 of a warp's 16 channels at a time.
constexpr int kStageChannels = 8;
constexpr int kStagingBytes = kStageChannels * kStrip * 4;  // of a warp
static_assert(kStrip % 32 == 8 || kStrip % 32 == 24, "staging has no bank conflicts");

constexpr int kRingsStart = kWeightBytes + kBiasBytes;
constexpr int kStagingStart = kRingsStart + kTeams * kRingBytes;
constexpr int kSharedBytes = kStagingStart + kTeams * kTeamWarps * kStagingBytes;
static_assert(kSharedBytes <= 227 * 1024, "what a block may have on compute capability 9.0");

struct Layer {
    int inputs, outputs;  // channels
    int height, width, out_height, out_width, padding_y, padding_x;
    int spans;                     // of a team's pixels, that cover an output row
    int chunk_rows, image_chunks;  // a team takes so many rows at a time; so many cover an image
    int chunks;                    // of all images
    int columns;                   // of `spans` teams each, that share out the chunks
    bool keeps_phase;              // all channels of a block start at the same place in a sector
};

// Tensor cores would cut float32 operands off at 10 bits of fraction; this rounds to nearest.
__device__ float round_to_tf32(float value)
{
    uint32_t rounded;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(rounded) : "f"(value));
    return __uint_as_float(rounded);
}

__device__ uint32_t shared_address(const void* pointer)
{
    return static_cast<uint32_t>(__cvta_generic_to_shared(pointer));
}

// PTX ISA, "Memory Consistency Model: proxies": stores to shared memory become visible to tensor
// cores and to the copy engine, after the next barrier of the threads concerned.
__device__ void publish_to_async_proxy()
{
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

// PTX ISA, "Parallel Synchronization and Communication Instructions: bar". 0 is __syncthreads()'s.
__device__ void synchronize_team(int team)
{
    asm volatile("bar.sync %0, %1;" :: "r"(team + 1), "n"(kTeamThreads) : "memory");
}

// PTX ISA, "Data Movement and Conversion Instructions: cp.async.bulk", the next four. Both
// addresses and the size are multiples of 16 bytes.
__device__ void copy_to_global(float* target, const float* source, int floats)
{
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;"
        :: "l"(__cvta_generic_to_global(target)), "r"(shared_address(source)), "r"(floats * 4)
        : "memory");
}

__device__ void close_copies() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }

// Until this thread's copies have read their source.
__device__ void wait_for_sources()
{
    asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
}

__device__ void wait_for_copies()
{
    asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}

// PTX ISA, "Asynchronous Warpgroup Level Matrix Multiply-Accumulate Instructions", up to
// multiply(). Its "matrix descriptor" without swizzling: rows 16 bytes apart (eight of them 128 bytes),
// plane_bytes between one quad of terms and the next. In units of 16 bytes, so that adding 1 moves
// on by a row.
__device__ uint64_t describe(uint32_t address, int plane_bytes)
{
    return static_cast<uint64_t>(address >> 4) | static_cast<uint64_t>(plane_bytes >> 4) << 16 |
        static_cast<uint64_t>(128 >> 4) << 32;
}

#define SUMS_4(i) "+f"(sums[i]), "+f"(sums[i + 1]), "+f"(sums[i + 2]), "+f"(sums[i + 3])
#define SUMS_16(i) SUMS_4(i), SUMS_4(i + 4), SUMS_4(i + 8), SUMS_4(i + 12)
#define SUMS_64(i) SUMS_16(i), SUMS_16(i + 16), SUMS_16(i + 32), SUMS_16(i + 48)

// sums += 64 channels x 8 terms by 8 terms x kStrip pixels. Starts; wait_for_products() ends.
__device__ void multiply_add(float (&sums)[kSums], uint64_t weights, uint64_t pixels)
{
    static_assert(kStrip == 136 && kSums == 68, "as in the instruction");
    asm volatile(
        "wgmma.mma_async.sync.aligned.m64n136k8.f32.tf32.tf32 {"
        "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
        "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
        "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, "
        "%64, %65, %66, %67}, %68, %69, 1, 1, 1;"
        : SUMS_64(0), SUMS_4(64) : "l"(weights), "l"(pixels));
}

// The compiler must neither write sums after wgmma has begun nor read them before it has ended.
__device__ void pin(float (&sums)[kSums])
{
#pragma unroll
    for (int i = 0; i < kSums; ++i) asm volatile("" : "+f"(sums[i]) :: "memory");
}

__device__ void begin_products(float (&sums)[kSums])
{
    pin(sums);
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

__device__ void wait_for_products(float (&sums)[kSums])
{
    asm volatile("wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;" ::: "memory");
    pin(sums);
}

// The 18 products of a row: taps x 2 steps of 8 terms. `oldest` is the ring's row for the top taps.
__device__ void multiply(
    float (&sums)[kSums], uint32_t weights, uint32_t ring, int oldest, int first_pixel)
{
    const uint64_t weight_descriptor = describe(weights, kWeightPlaneBytes);
    begin_products(sums);
#pragma unroll
    for (int ky = 0; ky < kKernel; ++ky) {
        const int row = oldest + ky < kKernel ? oldest + ky : oldest + ky - kKernel;
        const uint64_t pixel_descriptor =
            describe(ring + row * kRowBytes + first_pixel * 16, kPlaneBytes);
#pragma unroll
        for (int kx = 0; kx < kKernel; ++kx) {
#pragma unroll
            for (int quad = 0; quad < kQuads; quad += 2) {
                const int plane = (ky * kKernel + kx) * kQuads + quad;
                multiply_add(sums, weight_descriptor + plane * (kWeightPlaneBytes / 16),
                    pixel_descriptor + quad * (kPlaneBytes / 16) + kx);
            }
        }
    }
    wait_for_products(sums);
}

// Zeros for the channels that there aren't, in and out.
__device__ void stage_weights(
    float* staged, const float* weight, int first_output, const Layer& layer)
{
#pragma unroll 8
    for (int i = threadIdx.x; i < kChannels * kInputs * kTaps; i += kThreads) {
        const int channel = i / (kInputs * kTaps);
        const int output = first_output + kChannelStep * channel;
        const int input = i / kTaps % kInputs;
        const int tap = i % kTaps;
        float value = 0.0f;
        if (input < layer.inputs && output < layer.outputs) {
            value = weight[(static_cast<int64_t>(output) * layer.inputs + input) * kTaps + tap];
        }
        const int plane = tap * kQuads + input / 4;
        staged[(plane * kChannels + channel) * 4 + input % 4] = round_to_tf32(value);
    }
}

__device__ void stage_bias(
    float* staged, const float* bias, int first_output, const Layer& layer)
{
    for (int i = threadIdx.x; i < kChannels; i += kThreads) {
        const int output = first_output + kChannelStep * i;
        staged[i] = bias != nullptr && output < layer.outputs ? bias[output] : 0.0f;
    }
}

// The part of an input row that a team needs: a warp keeps to one quad, its lanes to a pixel each.
struct RowLoader {
    const float* input;  // of the image and the quad
    int64_t channel_size;
    int channels, height, width;
    int quad;
    int pixel;  // this lane's first, of kPixels
    int x;      // and where that is in the image

    __device__ void load(float4 (&pixels)[kPasses], int y) const
    {
        const bool is_row = y >= 0 && y < height;
        const float* row = input + static_cast<int64_t>(y) * width + x;
#pragma unroll
        for (int pass = 0; pass < kPasses; ++pass) {
            const int step = pass * kPassPixels;
            const bool is_pixel =
                is_row && x + step >= 0 && x + step < width && pixel + step < kPixels;
            const float* source = row + step;
            pixels[pass].x = is_pixel && channels > 0 ? source[0] : 0.0f;
            pixels[pass].y = is_pixel && channels > 1 ? source[channel_size] : 0.0f;
            pixels[pass].z = is_pixel && channels > 2 ? source[2 * channel_size] : 0.0f;
            pixels[pass].w = is_pixel && channels > 3 ? source[3 * channel_size] : 0.0f;
        }
    }

    __device__ void stage(unsigned char* row, const float4 (&pixels)[kPasses]) const
    {
        float4* plane = reinterpret_cast<float4*>(row + quad * kPlaneBytes) + pixel;
#pragma unroll
        for (int pass = 0; pass < kPasses; ++pass) {
            const int step = pass * kPassPixels;
            const float4 p = pixels[pass];
            if (pixel + step < kPixels) {
                plane[step] = make_float4(round_to_tf32(p.x), round_to_tf32(p.y),
                    round_to_tf32(p.z), round_to_tf32(p.w));
            }
        }
    }
};

// A warp's sums: 16 channels x a strip. `run` is where the strip's first pixel of the first of
// these channels belongs, at first_x; `outputs` are left in the image from that channel on. wgmma
// leaves 8 pixels of 8 channels in a register of a warp's lanes, which as a store would be 32 bytes
// here and there, at 1.7 TB/s. The copy engine writes a channel's 544 bytes in one go, at 2.9.
__device__ void store_sums(
    const float (&sums)[kSums], float* staging, float* run, int first_x, int outputs,
    const Layer& layer)
{
    const int lane = threadIdx.x % 32;
    const int64_t pitch = static_cast<int64_t>(kChannelStep) * layer.out_height * layer.out_width;
    // The pixels of the strip that exist, and those of them that are whole 16 bytes.
    const int begin = max(0, -first_x);
    const int end = min(kStrip, layer.out_width - first_x);
    const int whole_begin = (begin + 3) / 4 * 4;
    const int whole_end = end / 4 * 4;
    const bool is_bulk = layer.keeps_phase && whole_begin < whole_end;
#pragma unroll
    for (int piece = 0; piece < 2; ++piece) {
        if (lane < kStageChannels) wait_for_sources();
        __syncwarp();
        float* pairs = staging + lane / 4 * kStrip + lane % 4 * 2;
#pragma unroll
        for (int i = 0; i < kSums; i += 4) {
            *reinterpret_cast<float2*>(pairs + 2 * i) =
                make_float2(sums[i + 2 * piece], sums[i + 2 * piece + 1]);
        }
        publish_to_async_proxy();
        __syncwarp();
        float* target = run + piece * kStageChannels * pitch;
        const int channels = outputs - piece * kStageChannels * kChannelStep;
        if (is_bulk) {
            if (lane < kStageChannels && lane * kChannelStep < channels) {
                copy_to_global(target + lane * pitch + whole_begin,
                    staging + lane * kStrip + whole_begin, whole_end - whole_begin);
            }
            // What the copy leaves: up to three pixels at either end of an output row.
            const int channel = lane / 4;
            const int left = begin + lane % 4;
            const int right = whole_end + lane % 4;
            if (channel * kChannelStep < channels) {
                const float* source = staging + channel * kStrip;
                if (left < whole_begin) target[channel * pitch + left] = source[left];
                if (right < end) target[channel * pitch + right] = source[right];
            }
        } else {
#pragma unroll 1
            for (int i = lane; i < kStageChannels * kStrip; i += 32) {
                const int channel = i / kStrip;
                const int x = i % kStrip;
                if (channel * kChannelStep < channels && x >= begin && x < end) {
                    target[channel * pitch + x] = staging[i];
                }
            }
        }
        if (lane < kStageChannels) close_copies();
    }
}

__global__ void __launch_bounds__(kThreads, 1) conv3x3_kernel(
    const float* __restrict__ input, const float* __restrict__ weight,
    const float* __restrict__ bias, float* __restrict__ output, Layer layer)
{
    extern __shared__ __align__(128) unsigned char shared[];
    const int block_warp = __shfl_sync(~0u, threadIdx.x / 32, 0);  // known to be uniform
    const int team = block_warp / kTeamWarps;
    const int warp = block_warp % kTeamWarps;
    const int lane = threadIdx.x % 32;
    const int first_output =
        blockIdx.y * kChannels * kChannelStep + blockIdx.x % kChannelStep;
    float* biases = reinterpret_cast<float*>(shared + kWeightBytes);
    stage_weights(reinterpret_cast<float*>(shared), weight, first_output, layer);
    stage_bias(biases, bias, first_output, layer);
    publish_to_async_proxy();
    __syncthreads();

    // Neighbouring spans belong to neighbouring teams: a row of the output fills up at once.
    const int unit = blockIdx.x / kChannelStep * kTeams + team;
    const int span = unit % layer.spans;
    const int column = unit / layer.spans;
    if (column >= layer.columns) return;

    unsigned char* ring = shared + kRingsStart + team * kRingBytes;
    float* staging = reinterpret_cast<float*>(shared + kStagingStart + block_warp * kStagingBytes);
    RowLoader loader;
    loader.channel_size = static_cast<int64_t>(layer.height) * layer.width;
    loader.quad = warp % kQuads;
    loader.channels = layer.inputs - 4 * loader.quad;
    loader.height = layer.height;
    loader.width = layer.width;
    loader.pixel = warp / kQuads * 32 + lane;
    loader.x = span * kTeamPixels - kSector - layer.padding_x + loader.pixel;

    const int strip = warp / 4;         // of the two side by side: a warpgroup has one
    const int channel = warp % 4 * 16;  // the warp's first; wgmma leaves a thread two of them,
    biases += channel + lane / 4;       // lane / 4 and 8 more
    const int64_t plane_size = static_cast<int64_t>(layer.out_height) * layer.out_width;
    for (int chunk = column; chunk < layer.chunks; chunk += layer.columns) {
        const int image = chunk / layer.image_chunks;
        const int first_y = chunk % layer.image_chunks * layer.chunk_rows;
        const int last_y = min(first_y + layer.chunk_rows, layer.out_height) - 1;
        const int64_t plane = static_cast<int64_t>(image) * layer.outputs + first_output;
        loader.input = input +
            (static_cast<int64_t>(image) * layer.inputs + 4 * loader.quad) * loader.channel_size;
        {
            float4 rows[kKernel][kPasses];
#pragma unroll
            for (int i = 0; i < kKernel; ++i) loader.load(rows[i], first_y - layer.padding_y + i);
#pragma unroll
            for (int i = 0; i < kKernel; ++i) loader.stage(ring + i * kRowBytes, rows[i]);
            publish_to_async_proxy();
        }
        float4 next[kPasses];
        int next_y = first_y - layer.padding_y + kKernel;
        if (first_y < last_y) loader.load(next, next_y);
        int oldest = 0;
        for (int y = first_y; y <= last_y; ++y) {
            const int64_t row = plane * plane_size + static_cast<int64_t>(y) * layer.out_width;
            const int phase = layer.keeps_phase ? static_cast<int>(row % kSector) : 0;
            float sums[kSums];
#pragma unroll
            for (int i = 0; i < kSums; ++i) sums[i] = biases[i % 4 / 2 * 8];

            synchronize_team(team);  // the new row is there
            multiply(sums, shared_address(shared), shared_address(ring), oldest,
                kSector - phase + strip * kStrip);
            synchronize_team(team);  // both warpgroups are through with the oldest row
            if (y < last_y) {
                loader.stage(ring + oldest * kRowBytes, next);
                publish_to_async_proxy();
                oldest = oldest + 1 < kKernel ? oldest + 1 : 0;
                ++next_y;
            }
            const int first_x = span * kTeamPixels + strip * kStrip - phase;
            float* run = output + row + channel * kChannelStep * plane_size + first_x;
            store_sums(sums, staging, run, first_x,
                layer.outputs - first_output - channel * kChannelStep, layer);
            // After the fences, which would wait for it. Its latency passes during the products.
            if (y + 1 < last_y) loader.load(next, next_y);
        }
    }
    wait_for_copies();  // before the block gives its shared memory back
}

// One output per thread, in float32: for the layers that the kernel above isn't made for.
struct Convolution {
    int64_t inputs, height, width, outputs, out_height, out_width;  // channels of a group
    int64_t groups, kernel_y, kernel_x;
    int64_t stride_y, stride_x, padding_y, padding_x, dilation_y, dilation_x;
};

__global__ void __launch_bounds__(256) direct_kernel(
    const float* __restrict__ input, const float* __restrict__ weight,
    const float* __restrict__ bias, float* __restrict__ output, Convolution c, int64_t count)
{
    for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count;
        i += static_cast<int64_t>(gridDim.x) * blockDim.x) {
        const int64_t x = i % c.out_width;
        const int64_t y = i / c.out_width % c.out_height;
        const int64_t plane = i / c.out_width / c.out_height;
        const int64_t channel = plane % (c.groups * c.outputs);
        const int64_t group = plane / c.outputs;  // counted through all images
        const float* filter = weight + channel * c.inputs * c.kernel_y * c.kernel_x;
        const float* source = input + group * c.inputs * c.height * c.width;
        float sum = bias == nullptr ? 0.0f : bias[channel];
        for (int64_t k = 0; k < c.inputs; ++k, source += c.height * c.width) {
            for (int64_t ky = 0; ky < c.kernel_y; ++ky) {
                const int64_t in_y = y * c.stride_y - c.padding_y + ky * c.dilation_y;
                for (int64_t kx = 0; kx < c.kernel_x; ++kx, ++filter) {
                    const int64_t in_x = x * c.stride_x - c.padding_x + kx * c.dilation_x;
                    if (in_y >= 0 && in_y < c.height && in_x >= 0 && in_x < c.width) {
                        sum += *filter * source[in_y * c.width + in_x];
                    }
                }
            }
        }
        output[i] = sum;
    }
}

int64_t divide_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

int64_t out_size(
    const char* name, int64_t size, int64_t kernel, int64_t stride, int64_t padding,
    int64_t dilation)
{
    TORCH_CHECK(stride > 0 && dilation > 0 && padding >= 0,
        "conv2d: ", name, " needs a positive stride and dilation and no negative padding");
    const int64_t span = size + 2 * padding - dilation * (kernel - 1) - 1;
    TORCH_CHECK(span >= 0, "conv2d: the kernel's ", name, " is larger than the padded input's");
    return span / stride + 1;
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

int device_attribute(cudaDeviceAttr attribute)
{
    int device, value;
    C10_CUDA_CHECK(cudaGetDevice(&device));
    C10_CUDA_CHECK(cudaDeviceGetAttribute(&value, attribute, device));
    return value;
}

void check_device()
{
    const int major = device_attribute(cudaDevAttrComputeCapabilityMajor);
    const int minor = device_attribute(cudaDevAttrComputeCapabilityMinor);
    TORCH_CHECK(major == 9 && minor == 0,
        "conv2d: needs a GPU of compute capability 9.0, not ", major, ".", minor);
}

bool fits_tensor_cores(const Convolution& c)
{
    return c.groups == 1 && c.inputs <= kInputs && c.kernel_y == kKernel && c.kernel_x == kKernel &&
        c.stride_y == 1 && c.stride_x == 1 && c.dilation_y == 1 && c.dilation_x == 1;
}

// Returns the teams that there is work for.
int share_out(Layer& layer, int64_t batch)
{
    layer.spans = divide_up(layer.out_width + kSector - 1, kTeamPixels);
    // A block has a multiprocessor to itself, and kChannelStep blocks share the channels.
    const int teams =
        device_attribute(cudaDevAttrMultiProcessorCount) / kChannelStep * kTeams;
    layer.chunk_rows = std::min(layer.out_height, kChunkRows);
    layer.image_chunks = divide_up(layer.out_height, layer.chunk_rows);
    TORCH_CHECK(batch * layer.image_chunks <= INT_MAX / 2, "conv2d: too many rows for one launch");
    layer.chunks = static_cast<int>(batch) * layer.image_chunks;
    layer.columns = std::min(std::max(1, teams / layer.spans), layer.chunks);
    return layer.columns * layer.spans;
}

void launch_conv3x3(
    const torch::Tensor& input, const torch::Tensor& weight, const float* bias,
    torch::Tensor& output, const Convolution& c)
{
    Layer layer = {};
    layer.inputs = static_cast<int>(c.inputs);
    layer.outputs = static_cast<int>(c.outputs);
    layer.height = static_cast<int>(c.height);
    layer.width = static_cast<int>(c.width);
    layer.out_height = static_cast<int>(c.out_height);
    layer.out_width = static_cast<int>(c.out_width);
    layer.padding_y = static_cast<int>(c.padding_y);
    layer.padding_x = static_cast<int>(c.padding_x);
    layer.keeps_phase = kChannelStep * c.out_height * c.out_width % kSector == 0;
    const int teams = share_out(layer, input.size(0));
    const int64_t output_blocks = divide_up(c.outputs, kChannels * kChannelStep);
    TORCH_CHECK(output_blocks <= 65535, "conv2d: too many output channels for one launch");
    C10_CUDA_CHECK(cudaFuncSetAttribute(
        conv3x3_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kSharedBytes));
    const dim3 blocks(divide_up(teams, kTeams) * kChannelStep, output_blocks);
    conv3x3_kernel<<<blocks, kThreads, kSharedBytes, at::cuda::getCurrentCUDAStream()>>>(
        input.const_data_ptr<float>(), weight.const_data_ptr<float>(), bias,
        output.mutable_data_ptr<float>(), layer);
    C10_CUDA_KERNEL_LAUNCH_CHECK();
}

}  // namespace

torch::Tensor conv2d(
    torch::Tensor input, torch::Tensor weight, std::optional<torch::Tensor> bias,
    std::vector<int64_t> stride, std::vector<int64_t> padding, std::vector<int64_t> dilation,
    int64_t groups)
{
    check_tensors(input, weight, bias, groups);
    TORCH_CHECK(stride.size() == 2 && padding.size() == 2 && dilation.size() == 2,
        "conv2d: stride, padding and dilation are pairs");
    const Convolution c = {
        weight.size(1), input.size(2), input.size(3), weight.size(0) / groups,
        out_size("height", input.size(2), weight.size(2), stride[0], padding[0], dilation[0]),
        out_size("width", input.size(3), weight.size(3), stride[1], padding[1], dilation[1]),
        groups, weight.size(2), weight.size(3),
        stride[0], stride[1], padding[0], padding[1], dilation[0], dilation[1]};
    TORCH_CHECK(std::max({c.height, c.width, c.out_height, c.out_width}) <= INT_MAX / 2,
        "conv2d: an image's side must fit an int");

    const c10::cuda::CUDAGuard guard(input.device());
    check_device();
    input = input.contiguous();
    weight = weight.contiguous();
    if (bias.has_value()) bias = bias->contiguous();
    auto output = torch::empty(
        {input.size(0), weight.size(0), c.out_height, c.out_width}, input.options());
    if (output.numel() == 0) return output;

    const float* bias_data = bias.has_value() ? bias->const_data_ptr<float>() : nullptr;
    if (fits_tensor_cores(c)) {
        launch_conv3x3(input, weight, bias_data, output, c);
        return output;
    }
    const int64_t blocks = std::min<int64_t>(divide_up(output.numel(), 256), INT_MAX);
    direct_kernel<<<static_cast<int>(blocks), 256, 0, at::cuda::getCurrentCUDAStream()>>>(
        input.const_data_ptr<float>(), weight.const_data_ptr<float>(), bias_data,
        output.mutable_data_ptr<float>(), c, output.numel());
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return output;
}
"""

extension = load_inline(
    name="conv2d_square_tensor_strips",
    cpp_sources=CPP_SOURCE,
    cuda_sources=CUDA_SOURCE,
    functions=["conv2d"],
    # wgmma exists in this target alone: the solution runs on Hopper and on nothing else.
    extra_cuda_cflags=["-gencode=arch=compute_90a,code=sm_90a"],
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
