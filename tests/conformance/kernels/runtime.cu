// The runtime API: streams, events, errors, the device, occupancy.
#include <cassert>
#include <cstdint>
#include <cstdio>

#include "case.h"

__global__ void append(int* log, int value) {
  int at = log[0];
  log[++at] = value;
  log[0] = at;
}

CASE(streams_and_events) {
  int* log = buffers.at<int>(0);
  cudaStream_t first, second;
  cudaEvent_t start, done;
  cudaStreamCreate(&first);
  cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking);
  cudaEventCreate(&start);
  cudaEventCreateWithFlags(&done, cudaEventBlockingSync);
  cudaEventRecord(start, first);
  append<<<1, 1, 0, first>>>(log, 7);
  cudaEventRecord(done, first);
  cudaStreamWaitEvent(second, done, 0);
  append<<<1, 1, 0, second>>>(log, 8);
  cudaStreamSynchronize(second);
  cudaEventSynchronize(done);
  float elapsed_ms = -1;
  cudaError_t error = cudaEventElapsedTime(&elapsed_ms, start, done);
  append<<<1, 1>>>(log, error == cudaSuccess && elapsed_ms >= 0 && first != second && cudaEventQuery(done) == cudaSuccess);
  cudaEventDestroy(start);
  cudaEventDestroy(done);
  cudaStreamDestroy(first);
  cudaStreamDestroy(second);
}

static void store(const Buffers& buffers, int index, const int* values, int count) {
  cudaMemcpy(buffers.at<int>(index), values, count * sizeof(int), cudaMemcpyHostToDevice);
}

CASE(device_properties) {
  cudaDeviceProp properties;
  cudaGetDeviceProperties(&properties, 0);
  int value[6], device = -1, count = 0;
  cudaGetDevice(&device);
  cudaGetDeviceCount(&count);
  cudaDeviceGetAttribute(&value[0], cudaDevAttrMaxThreadsPerBlock, 0);
  cudaDeviceGetAttribute(&value[1], cudaDevAttrMaxSharedMemoryPerBlock, 0);
  cudaDeviceGetAttribute(&value[2], cudaDevAttrWarpSize, 0);
  cudaDeviceGetAttribute(&value[3], cudaDevAttrMaxGridDimY, 0);
  cudaDeviceGetAttribute(&value[4], cudaDevAttrComputeCapabilityMajor, 0);
  cudaDeviceGetAttribute(&value[5], cudaDevAttrMaxSharedMemoryPerBlockOptin, 0);
  int seen[] = {properties.warpSize, properties.maxThreadsPerBlock, int(properties.sharedMemPerBlock),
                properties.maxThreadsDim[2], properties.maxGridSize[1], properties.regsPerBlock,
                value[0] == properties.maxThreadsPerBlock, value[1] == int(properties.sharedMemPerBlock),
                value[2] == properties.warpSize, value[3] == properties.maxGridSize[1],
                value[4] == properties.major, value[5] == int(properties.sharedMemPerBlockOptin), device, count > 0,
                int(sizeof properties.uuid.bytes), int(sizeof properties.luid), properties.maxTexture1D >= 65536};
  store(buffers, 0, seen, sizeof seen / sizeof(int));
}

CASE(hopper_properties) {
  cudaDeviceProp properties;
  cudaGetDeviceProperties(&properties, 0);
  int seen[] = {properties.major, properties.minor, int(properties.sharedMemPerBlockOptin),
                int(properties.sharedMemPerMultiprocessor), properties.maxThreadsPerMultiProcessor,
                properties.maxBlocksPerMultiProcessor, properties.regsPerMultiprocessor};
  store(buffers, 0, seen, sizeof seen / sizeof(int));
}

__global__ void __launch_bounds__(1024) light(float* out) { out[threadIdx.x] = 1.0f; }

CASE(occupancy) {
  int blocks = 0, grid = 0, block = 0, limited = 0;
  cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, light, 256, 0);
  cudaOccupancyMaxPotentialBlockSize(&grid, &block, light, 0, 0);
  cudaOccupancyMaxActiveBlocksPerMultiprocessor(&limited, light, 128, 40 * 1024);
  int seen[] = {blocks >= 4 && blocks <= 8, grid > 0, block, limited};  // 4 with 64 registers, 8 with up to 32
  store(buffers, 0, seen, 4);
}

__host__ __device__ size_t shared_of(int threads) { return threads * 64; }

CASE(occupancy_by_block) {
  int grid = 0, of_any = 0, by_threads = 0, up_to_96 = 0;
  cudaOccupancyMaxPotentialBlockSizeVariableSMem(&grid, &of_any, light, shared_of, 768);
  cudaOccupancyMaxPotentialBlockSize(&grid, &by_threads, light, 0, 1000);
  cudaOccupancyMaxPotentialBlockSizeWithFlags(&grid, &up_to_96, light, 0, 96, cudaOccupancyDefault);
  int seen[] = {of_any, by_threads, up_to_96};
  store(buffers, 0, seen, 3);
}

CASE(memory_pools) {
  cudaMemPool_t pool;
  uint64_t threshold = UINT64_MAX;
  float* scratch = nullptr;
  int seen[4];
  seen[0] = cudaDeviceGetDefaultMemPool(&pool, 0);
  seen[1] = cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold);
  seen[2] = cudaMallocFromPoolAsync(&scratch, 256, pool, nullptr);
  cudaPointerAttributes of_scratch;
  cudaPointerGetAttributes(&of_scratch, scratch);
  seen[3] = of_scratch.type == cudaMemoryTypeDevice && of_scratch.device == 0;
  cudaFreeAsync(scratch, nullptr);
  store(buffers, 0, seen, 4);
}

__global__ void nothing() {}

CASE(launch_errors) {
  cudaGetLastError();
  int seen[6];
  nothing<<<1, 2048>>>();
  seen[0] = cudaPeekAtLastError();
  seen[1] = cudaGetLastError();
  seen[2] = cudaGetLastError();
  nothing<<<0, 32>>>();
  seen[3] = cudaGetLastError();
  nothing<<<1, 32, 64 * 1024>>>();
  seen[4] = cudaGetLastError();
  nothing<<<dim3(1, 70000), 32>>>();
  seen[5] = cudaGetLastError();
  store(buffers, 0, seen, 6);
}

CASE(error_names) {
  const char* names[] = {cudaGetErrorName(cudaErrorInvalidConfiguration), cudaGetErrorString(cudaErrorInvalidValue),
                         cudaGetErrorString(cudaSuccess)};
  unsigned char text[96] = {};
  for (int i = 0; i < 3; i++) snprintf(reinterpret_cast<char*>(text) + 32 * i, 32, "%s", names[i]);
  cudaMemcpy(buffers.at<unsigned char>(0), text, sizeof text, cudaMemcpyHostToDevice);
}

CASE(refused_calls) {
  int seen[4], value;
  void* pointer = buffers.data[0];
  seen[0] = cudaSetDevice(99);
  seen[1] = cudaMemcpy2D(pointer, 4, pointer, 8, 8, 2, cudaMemcpyDeviceToDevice);
  seen[2] = cudaFuncSetAttribute(nothing, cudaFuncAttributeMaxDynamicSharedMemorySize, 1 << 20);
  seen[3] = cudaDeviceGetAttribute(&value, cudaDevAttrWarpSize, 99);
  cudaGetLastError();
  store(buffers, 0, seen, 4);
}

__global__ void speak(int* out) {
  assert(blockDim.x == 4);
  if (threadIdx.x == 3) printf("conformance %d %s %.2f\n", int(threadIdx.x), "says", 1.5);
  long long before = clock64();
  clock_t ticks = clock();
  __nanosleep(20);
  out[threadIdx.x] = clock64() >= before && ticks != 0;
}

CASE(device_printf_and_clock) { speak<<<1, 4>>>(buffers.at<int>(0)); }

__global__ void hints(const int* in, int* out, int n) {
  __builtin_assume(n > 0);
  int i = threadIdx.x;
  if (__builtin_expect(i < n, 1)) {
    int sum = 0;
#pragma unroll 4
    for (int k = 0; k < 4; k++) sum += in[i] << k;
    out[i] = sum;
  } else {
    __trap();
  }
}

CASE(compiler_hints) { hints<<<1, 32>>>(buffers.at<int>(0), buffers.at<int>(1), 32); }

// By these a header knows what is included before it, as that of NVIDIA's samples does.
CASE(header_guards) {
  int mode = -1;
#if defined(__CUDA_RUNTIME_H__) && defined(__CUDA_RUNTIME_API_H__)
#if defined(__DRIVER_TYPES_H__) && defined(__VECTOR_TYPES_H__)
  cudaDeviceGetAttribute(&mode, cudaDevAttrComputeMode, 0);
#endif
#endif
  int is_default = mode == cudaComputeModeDefault;
  store(buffers, 0, &is_default, 1);
}
