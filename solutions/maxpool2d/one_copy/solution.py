"""Max pooling, a block per tile of whole rows: one bulk copy brings its inputs, one its outputs."""

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
#include <cstdint>

struct Pooling {
    int height, width, out_height, out_width;
    int kernel_size, stride, padding, dilation;
};

// PTX ISA: max. One instruction; fmaxf would drop a NaN, torch lets it win.
__device__ __forceinline__ float larger(float a, float b)
{
    float result;
    asm("max.NaN.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
    return result;
}

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

// PTX ISA: cp.async.bulk. The same alignment.
__device__ __forceinline__ void bulk_store(void* global, const void* shared, uint32_t bytes)
{
    asm volatile(
        "cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;\n"
        "cp.async.bulk.commit_group;"
        :: "l"(__cvta_generic_to_global(global)), "r"(shared_address(shared)), "r"(bytes)
        : "memory");
}

// PTX ISA: cp.async.bulk.wait_group. Returns once this thread's bulk stores have read their shared
// memory, which must live that long.
__device__ __forceinline__ void bulk_stores_have_read()
{
    asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
}

// PTX ISA: fence.proxy. Orders this thread's ordinary writes to shared memory before later bulk
// stores of it, by whatever thread a barrier of the block then lets start them.
__device__ __forceinline__ void fence_for_bulk_store()
{
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

// Windows of kernel_size 2 to 4 that move by one, over an image of at most kMaxWidth columns whose
// rows are multiples of 16 bytes: a tile is a number of whole rows, so that its inputs are one
// contiguous piece of memory and so are its outputs.

constexpr int kThreads = 256;
constexpr int kColumns = 2;  // of a thread: its own and the one kThreads further to the right
constexpr int kMaxWidth = kThreads * kColumns;
constexpr int kRows = 16;   // of outputs, in a tile; 8 and 12 are as fast
constexpr int kBlocks = 3;  // of an SM, 70 KB each: while one works the others' copies run

template <int kSize>
struct Tile {
    alignas(16) float rows[(kRows + kSize - 1) * kMaxWidth];
    // Outputs, as far behind a multiple of 16 bytes as their place in global memory is.
    alignas(16) float staged[kRows * kMaxWidth + 4];
    alignas(8) uint64_t arrived;
};

// Takes one more row of inputs, and gives the maxima over the windows that it completes. maxima[k]
// covers the k + 1 latest rows: each new row makes maxima[k] out of maxima[k - 1], so that no
// earlier row is read again.
template <int kSize>
__device__ __forceinline__ void take_row(
    const float* row, const int (&columns)[kColumns][kSize],
    float (&maxima)[kSize - 1][kColumns], float (&best)[kColumns])
{
    #pragma unroll
    for (int c = 0; c < kColumns; ++c) {
        float value = row[columns[c][0]];
        #pragma unroll
        for (int k = 1; k < kSize; ++k) value = larger(value, row[columns[c][k]]);
        best[c] = larger(maxima[kSize - 2][c], value);
        #pragma unroll
        for (int k = kSize - 2; k > 0; --k) maxima[k][c] = larger(maxima[k - 1][c], value);
        maxima[0][c] = value;
    }
}

// How far a place lies behind a multiple of 16 bytes, in floats.
__device__ __forceinline__ int floats_past_16_bytes(const float* place)
{
    return static_cast<int>(reinterpret_cast<uintptr_t>(place) / sizeof(float) % 4);
}

// Writes count staged outputs to their place: what fills whole 16 bytes in one bulk store, at most
// three floats before it and after it one by one. Each part is another warp's.
__device__ __forceinline__ void store_staged(float* place, const float* staged, int count)
{
    const int begin = floats_past_16_bytes(place);
    const int end = begin + count;
    const int bulk_begin = (begin + 3) / 4 * 4;
    const int bulk_end = max(bulk_begin, end / 4 * 4);
    if (threadIdx.x == 0 && bulk_end > bulk_begin) {
        bulk_store(place - begin + bulk_begin, staged + bulk_begin,
            static_cast<uint32_t>((bulk_end - bulk_begin) * sizeof(float)));
    } else if (threadIdx.x >= 32 && threadIdx.x < 36) {
        const int i = begin + threadIdx.x - 32;
        if (i < min(bulk_begin, end)) place[i - begin] = staged[i];
    } else if (threadIdx.x >= 64 && threadIdx.x < 68) {
        const int i = bulk_end + threadIdx.x - 64;
        if (i < end) place[i - begin] = staged[i];
    }
}

template <int kSize>
__global__ void __launch_bounds__(kThreads, kBlocks) sliding_max_kernel(
    const float* __restrict__ input, float* __restrict__ output, Pooling p, int tiles_per_plane)
{
    extern __shared__ __align__(16) unsigned char shared[];
    Tile<kSize>& tile = *reinterpret_cast<Tile<kSize>*>(shared);
    const int64_t plane = blockIdx.x / tiles_per_plane;
    const int first_row = blockIdx.x % tiles_per_plane * kRows;
    const int rows = min(kRows, p.out_height - first_row);
    input += plane * p.height * p.width;
    output += plane * p.out_height * p.out_width + static_cast<int64_t>(first_row) * p.out_width;

    const int top = first_row - p.padding;
    const int begin_y = max(top, 0);
    const int end_y = min(top + rows + kSize - 1, p.height);
    if (threadIdx.x == 0) {
        const uint32_t bytes = (end_y - begin_y) * p.width * sizeof(float);
        barrier_init(&tile.arrived, 1);
        barrier_expect(&tile.arrived, bytes);
        bulk_load(tile.rows, input + begin_y * p.width, bytes, &tile.arrived);
    }
    __syncthreads();  // nobody waits on a barrier that isn't initialised
    barrier_wait(&tile.arrived, 0);

    // The nearest row or column of the image stands for those outside of it. Since padding is at
    // most half of kernel_size, windows that reach over the edge hold that one anyway, and what is
    // counted twice changes no maximum.
    const int out_x = threadIdx.x;
    int columns[kColumns][kSize];
    #pragma unroll
    for (int c = 0; c < kColumns; ++c) {
        #pragma unroll
        for (int k = 0; k < kSize; ++k) {
            columns[c][k] = max(0, min(out_x + c * kThreads - p.padding + k, p.width - 1));
        }
    }
    auto row = [&](int i) {
        return tile.rows + (max(begin_y, min(top + i, end_y - 1)) - begin_y) * p.width;
    };

    float maxima[kSize - 1][kColumns], best[kColumns];
    #pragma unroll
    for (int k = 0; k < kSize - 1; ++k) {
        #pragma unroll
        for (int c = 0; c < kColumns; ++c) maxima[k][c] = -INFINITY;
    }
    #pragma unroll
    for (int i = 0; i < kSize - 1; ++i) {  // these complete no window
        take_row<kSize>(row(i), columns, maxima, best);
    }
    float* staged = tile.staged + floats_past_16_bytes(output) + out_x;
    #pragma unroll 4
    for (int i = 0; i < rows; ++i) {
        take_row<kSize>(row(i + kSize - 1), columns, maxima, best);
        #pragma unroll
        for (int c = 0; c < kColumns; ++c) {
            const int x = c * kThreads;
            if (out_x + x < p.out_width) staged[i * p.out_width + x] = best[c];
        }
    }
    fence_for_bulk_store();
    __syncthreads();
    store_staged(output, tile.staged, rows * p.out_width);
    bulk_stores_have_read();
}

template <int kSize>
void launch_sliding(
    const float* input, float* output, const Pooling& p, int64_t planes, cudaStream_t stream)
{
    const int tiles_per_plane = (p.out_height + kRows - 1) / kRows;
    TORCH_CHECK(planes * tiles_per_plane <= INT_MAX,
        "max_pool2d: too many blocks for one launch; split the batch");
    constexpr int kSharedBytes = sizeof(Tile<kSize>);
    C10_CUDA_CHECK(cudaFuncSetAttribute(
        sliding_max_kernel<kSize>, cudaFuncAttributeMaxDynamicSharedMemorySize, kSharedBytes));
    sliding_max_kernel<kSize>
        <<<static_cast<int>(planes * tiles_per_plane), kThreads, kSharedBytes, stream>>>(
            input, output, p, tiles_per_plane);
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
    constexpr int64_t kMaxPlane = INT_MAX - kGeneralThreads;
    TORCH_CHECK(height * width <= kMaxPlane && out_height * out_width <= kMaxPlane,
        "max_pool2d: a single plane is too large for 32-bit indices");

    const c10::cuda::CUDAGuard guard(input.device());
    int major = 0;
    C10_CUDA_CHECK(cudaDeviceGetAttribute(
        &major, cudaDevAttrComputeCapabilityMajor, input.get_device()));
    TORCH_CHECK(major == 9,
        "max_pool2d: needs a GPU of compute capability 9.0, not ", major,
        ".x; the solution sliding_rows runs on any");
    input = input.contiguous();
    auto output =
        torch::empty({input.size(0), input.size(1), out_height, out_width}, input.options());
    if (output.numel() == 0) return output;

    const Pooling pooling{
        static_cast<int>(height), static_cast<int>(width),
        static_cast<int>(out_height), static_cast<int>(out_width),
        static_cast<int>(kernel_size), static_cast<int>(stride),
        static_cast<int>(padding), static_cast<int>(dilation)};
    const float* from = input.const_data_ptr<float>();
    float* to = output.mutable_data_ptr<float>();
    const bool slides = stride == 1 && dilation == 1 && kernel_size >= 2 && kernel_size <= 4
        && width % 4 == 0 && std::max(width, out_width) <= kMaxWidth
        && reinterpret_cast<uintptr_t>(from) % 16 == 0 && reinterpret_cast<uintptr_t>(to) % 16 == 0;
    const auto launch = !slides ? launch_general
        : kernel_size == 2 ? launch_sliding<2>
        : kernel_size == 3 ? launch_sliding<3> : launch_sliding<4>;
    launch(from, to, pooling, planes, at::cuda::getCurrentCUDAStream());
    return output;
}
"""

extension = load_inline(
    name="maxpool2d_one_copy",
    cpp_sources=CPP_SOURCE,
    cuda_sources=CUDA_SOURCE,
    functions=["max_pool2d"],
    extra_cuda_cflags=["-gencode=arch=compute_90,code=sm_90"],
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
