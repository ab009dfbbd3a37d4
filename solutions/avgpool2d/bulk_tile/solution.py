"""Average pooling, a block per row of outputs: one bulk copy brings all of its inputs."""

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

// Bulk copies (TMA without a tensor map) and the barriers that they complete on.

__device__ __forceinline__ uint32_t shared_address(const void* pointer)
{
    return static_cast<uint32_t>(__cvta_generic_to_shared(pointer));
}

// PTX ISA: mbarrier.init. The fence makes the barrier visible to the copy engine.
__device__ __forceinline__ void barrier_init(uint64_t* barrier, int arrivals)
{
    asm volatile(
        "mbarrier.init.shared::cta.b64 [%0], %1;\n"
        "fence.mbarrier_init.release.cluster;"
        :: "r"(shared_address(barrier)), "r"(arrivals) : "memory");
}

// PTX ISA: mbarrier.arrive. One arrival; the phase completes when as many bytes have come too.
__device__ __forceinline__ void barrier_expect(uint64_t* barrier, uint32_t bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
        :: "r"(shared_address(barrier)), "r"(bytes) : "memory");
}

// PTX ISA: mbarrier.try_wait. Returns once the phase of this parity (at first 0) has completed.
__device__ __forceinline__ void barrier_wait(uint64_t* barrier, uint32_t parity)
{
    asm volatile(
        "{\n"
        ".reg .pred done;\n"
        "again:\n"
        "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
        "@!done bra again;\n"
        "}\n"
        :: "r"(shared_address(barrier)), "r"(parity) : "memory");
}

// PTX ISA: cp.async.bulk. Both addresses and the size are multiples of 16 bytes. A block outside of
// any cluster is a cluster of its own.
__device__ __forceinline__ void bulk_load(
    void* shared, const void* global, uint32_t bytes, uint64_t* barrier)
{
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
        :: "r"(shared_address(shared)), "l"(__cvta_generic_to_global(global)), "r"(bytes),
           "r"(shared_address(barrier)) : "memory");
}

// Windows of 11 x 11 inside of an image whose rows are multiples of 16 bytes: a block per row of
// outputs. The rows of its windows are neighbours in memory, and one copy brings them all.

constexpr int kWindow = 11;
constexpr int kRowThreads = 512;
constexpr int kRowBlocks = 2;    // of an SM: one's copy runs while the other one adds
constexpr int kMaxWidth = 2048;  // 88 KB of inputs; twice that is what an SM holds

struct Tile {
    alignas(16) float rows[kWindow * kMaxWidth];
    alignas(8) uint64_t arrived;
};

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
    extern __shared__ __align__(16) unsigned char shared[];
    Tile& tile = *reinterpret_cast<Tile*>(shared);
    const int64_t out_row = blockIdx.x;  // counted through all planes
    if (threadIdx.x == 0) {
        const int64_t plane = out_row / p.out_height;
        const int top = out_row % p.out_height * p.stride;
        const uint32_t bytes = kWindow * p.width * sizeof(float);
        barrier_init(&tile.arrived, 1);
        barrier_expect(&tile.arrived, bytes);
        bulk_load(tile.rows, input + (plane * p.height + top) * p.width, bytes, &tile.arrived);
    }
    __syncthreads();  // nobody waits on a barrier that isn't initialised
    barrier_wait(&tile.arrived, 0);

    const int quads = p.width / 4;
    float4* rows = reinterpret_cast<float4*>(tile.rows);
    for (int quad = threadIdx.x; quad < quads; quad += kRowThreads) {
        float4 values[kWindow];
        #pragma unroll
        for (int k = 0; k < kWindow; ++k) values[k] = rows[k * quads + quad];
        rows[quad] = sum_of(values);  // in the place of the first row, which nobody else reads here
    }
    __syncthreads();
    store_averages(tile.rows, output + out_row * p.out_width, p);
}

void launch_whole_windows(
    const float* input, float* output, const Pooling& p, int64_t out_rows, cudaStream_t stream)
{
    TORCH_CHECK(out_rows <= INT_MAX, "avg_pool2d: too many blocks for one launch; split the batch");
    C10_CUDA_CHECK(cudaFuncSetAttribute(
        whole_windows_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, sizeof(Tile)));
    whole_windows_kernel<<<static_cast<int>(out_rows), kRowThreads, sizeof(Tile), stream>>>(
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
    int major = 0;
    C10_CUDA_CHECK(cudaDeviceGetAttribute(
        &major, cudaDevAttrComputeCapabilityMajor, input.get_device()));
    TORCH_CHECK(major == 9,
        "avg_pool2d: needs a GPU of compute capability 9.0, not ", major,
        ".x; the solution wide_rows runs on any");
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
    name="avgpool2d_bulk_tile",
    cpp_sources=CPP_SOURCE,
    cuda_sources=CUDA_SOURCE,
    functions=["avg_pool2d"],
    extra_cuda_cflags=["-gencode=arch=compute_90,code=sm_90"],
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
