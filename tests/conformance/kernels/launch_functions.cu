// Launches by function, and grids whose blocks wait for each other.
#include <cooperative_groups.h>

#include "case.h"

namespace cg = cooperative_groups;

struct Line {
  int slope, offset;
};

template <int N>
__global__ void on_line(const int* in, int* out, Line line, long long more) {
  int i = blockIdx.x * N + threadIdx.x;
  out[i] = line.slope * in[i] + line.offset + int(more);
}

CASE(launch_by_address) {
  const int* in = buffers.at<int>(0);
  int* out = buffers.at<int>(1);
  Line line{3, 5};
  long long more = 7;
  void* arguments[] = {(void*)&in, &out, &line, &more};
  bool is_large = buffers.size(0) > 64;
  const void* kernel = is_large ? (const void*)on_line<32> : (void*)&on_line<16>;
  cudaLaunchKernel(kernel, dim3(buffers.size(0) / 32), dim3(32), arguments, 0, nullptr);
}

CASE(launch_by_name) {
  const int* in = buffers.at<int>(0);
  int* out = buffers.at<int>(1);
  Line line{3, 5};
  const long long first_half = 7;  // the name of a kernel
  void* arguments[] = {&in, &out, &line, (void*)&first_half};
  cudaLaunchKernel(on_line<32>, dim3(buffers.size(0) / 32), dim3(32), arguments);
}

__global__ void reversed_in_shared(const int* in, int* out, int n) {
  extern __shared__ int tile[];
  for (int i = threadIdx.x; i < n; i += blockDim.x) tile[i] = in[i];
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += blockDim.x) out[i] = tile[n - 1 - i];
}

CASE(launch_with_shared) {
  const int* in = buffers.at<int>(0);
  int* out = buffers.at<int>(1);
  int n = buffers.size(0), shared = n * int(sizeof(int));
  void* kernel = reinterpret_cast<void*>(reversed_in_shared);
  cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared);
  void* arguments[] = {&in, &out, &n};
  cudaLaunchKernel((const void*)reversed_in_shared, dim3(1), dim3(128), arguments, shared, nullptr);
}

__global__ void first_half(const int* in, int* between) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  between[i] = in[i] + 1;
  cudaTriggerProgrammaticLaunchCompletion();
}

template <class T>
__global__ void second_half(const T* between, T* out, long long factor) {
  cudaGridDependencySynchronize();
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = between[i] * T(factor);
}

CASE(launch_with_attributes) {
  cudaLaunchAttribute attributes[3];
  attributes[0].id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attributes[0].val.programmaticStreamSerializationAllowed = 1;
  attributes[1].id = cudaLaunchAttributePriority;
  attributes[1].val.priority = 0;
  attributes[2].id = cudaLaunchAttributeClusterDimension;
  attributes[2].val.clusterDim = {1, 1, 1};
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(buffers.size(0) / 32);
  config.blockDim = 32;
  config.attrs = attributes;
  config.numAttrs = 2;
  first_half<<<config.gridDim, config.blockDim>>>(buffers.at<int>(0), buffers.at<int>(1));
  cudaLaunchKernelEx(&config, second_half<int>, buffers.at<int>(1), buffers.at<int>(2), 3);
  config.numAttrs = 3;
  const int* between = buffers.at<int>(1);
  int* out = buffers.at<int>(3);
  long long factor = -2;
  void* arguments[] = {&between, &out, &factor};
  cudaLaunchKernelExC(&config, (void*)second_half<int>, arguments);
}

// Each round reads what other blocks wrote in the round before.
__global__ void rounds(int* from, int* to, int count) {
  auto grid = cg::this_grid();
  int n = int(grid.size()), i = int(grid.thread_rank());
  for (int round = 0; round < count; round++) {
    to[i] = from[(i + blockDim.x) % n] + round;
    grid.sync();
    int* swapped = from;
    from = to;
    to = swapped;
  }
  if (threadIdx.x == 0) from[i] += grid.is_valid() ? 1000 : 0;
}

CASE(barrier_of_grid) {
  int *first = buffers.at<int>(1), *second = buffers.at<int>(2), count = 5;
  cudaMemcpy(first, buffers.at<int>(0), buffers.size(0) * sizeof(int), cudaMemcpyDeviceToDevice);
  void* arguments[] = {&first, &second, &count};
  cudaLaunchCooperativeKernel((void*)rounds, dim3(buffers.size(0) / 64), dim3(64), arguments, 0, nullptr);
}

CASE(barrier_of_grid_by_attribute) {
  int *first = buffers.at<int>(1), *second = buffers.at<int>(2);
  cudaMemcpy(first, buffers.at<int>(0), buffers.size(0) * sizeof(int), cudaMemcpyDeviceToDevice);
  cudaLaunchAttribute cooperative;
  cooperative.id = cudaLaunchAttributeCooperative;
  cooperative.val.cooperative = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(buffers.size(0) / 64);
  config.blockDim = 64;
  config.attrs = &cooperative;
  config.numAttrs = 1;
  cudaLaunchKernelEx(&config, rounds, first, second, 5);
}

__device__ void wait_for_grid(unsigned* arrived, unsigned target) {
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    atomicAdd(arrived, 1u);
    if (target & 1) {
      while (*(volatile unsigned*)arrived < target) {
      }
    } else {
      unsigned seen;
      do {
        asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(arrived) : "memory");
      } while (seen < target);
    }
    __threadfence();
  }
  __syncthreads();
}

// The block with the highest number writes what all others read.
__global__ void from_last_block(const int* in, int* shift, int* out, unsigned* arrived) {
  __shared__ int kept[32];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  kept[threadIdx.x] = in[i];
  wait_for_grid(arrived, gridDim.x);
  if (blockIdx.x == gridDim.x - 1) shift[threadIdx.x] = in[i] * 2;
  wait_for_grid(arrived, 2 * gridDim.x);
  out[i] = kept[31 - threadIdx.x] + shift[threadIdx.x];
}

CASE(barrier_of_atomics) {
  const int* in = buffers.at<int>(0);
  int *shift = buffers.at<int>(1), *out = buffers.at<int>(2);
  unsigned* arrived = buffers.at<unsigned>(3);
  void* arguments[] = {&in, &shift, &out, &arrived};
  cudaMemset(arrived, 0, sizeof(unsigned));
  cudaLaunchCooperativeKernel(from_last_block, dim3(buffers.size(0) / 32), dim3(32), arguments);
}

__global__ void counted_together(int* out, int* arrived) {
  atomicAdd(arrived, 1);
  cg::this_grid().sync();
  // Behind the barrier all have come.
  if (threadIdx.x == 0 && *(volatile int*)arrived != int(gridDim.x * blockDim.x)) atomicAdd(out, 1);
  if (blockIdx.x == 0 && threadIdx.x == 0) out[1] = 1;
}

CASE(barrier_of_a_full_device) {
  int *out = buffers.at<int>(0), *arrived = out + 2, per_multiprocessor = 0, multiprocessors = 0;
  cudaMemset(out, 0, 4 * sizeof(int));
  cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_multiprocessor, counted_together, 256, 0);
  cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0);
  void* arguments[] = {&out, &arrived};
  int code = cudaLaunchCooperativeKernel((void*)counted_together, dim3(per_multiprocessor * multiprocessors), dim3(256),
                                         arguments, 0, nullptr);
  cudaMemset(arrived, 0, sizeof(int));  // a number of the device's own
  cudaMemcpy(out + 3, &code, sizeof code, cudaMemcpyHostToDevice);
}

// What no launch of its own can tell: errors, and hints for caches.
CASE(cooperative_too_large) {
  int *out = buffers.at<int>(0), *none = nullptr, count = 0;
  void* arguments[] = {&none, &none, &count};
  int codes[3];
  codes[0] = cudaLaunchCooperativeKernel((void*)rounds, dim3(1 << 20), dim3(64), arguments, 0, nullptr);
  codes[1] = cudaGetLastError();
  codes[2] = cudaGetLastError();
  cudaMemcpy(out, codes, sizeof codes, cudaMemcpyHostToDevice);
}

CASE(hints_for_the_l2_cache) {
  int* out = buffers.at<int>(0);
  cudaStream_t stream;
  cudaStreamCreate(&stream);
  cudaStreamAttrValue value = {};
  value.accessPolicyWindow.base_ptr = out;
  value.accessPolicyWindow.num_bytes = 128;
  value.accessPolicyWindow.hitRatio = 1.0f;
  value.accessPolicyWindow.hitProp = cudaAccessPropertyPersisting;
  value.accessPolicyWindow.missProp = cudaAccessPropertyStreaming;
  int codes[3];
  codes[0] = cudaDeviceSetLimit(cudaLimitPersistingL2CacheSize, 1 << 20);
  codes[1] = cudaStreamSetAttribute(stream, cudaStreamAttributeAccessPolicyWindow, &value);
  codes[2] = cudaCtxResetPersistingL2Cache();
  cudaStreamDestroy(stream);
  cudaMemcpy(out, codes, sizeof codes, cudaMemcpyHostToDevice);
}
