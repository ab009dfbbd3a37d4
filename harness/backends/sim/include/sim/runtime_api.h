// The CUDA runtime API on one device and one stream: every call is done when it returns.
#pragma once
#include <cstdlib>
#include <cstring>

#include "sim/abi.h"
#include "sim/runtime_types.h"

// Errors.
static inline const char* cudaGetErrorString(cudaError_t error) { return sim_error_string(error); }
static inline const char* cudaGetErrorName(cudaError_t error) { return sim_error_string(error); }
static inline cudaError_t cudaGetLastError() { return sim_last_error(1); }
static inline cudaError_t cudaPeekAtLastError() { return sim_last_error(0); }
static inline cudaError_t cudaDeviceSynchronize() { return sim_sticky_error(); }

// Memory.
template <class T>
static inline cudaError_t cudaMalloc(T** pointer, size_t nbytes) {
  *pointer = static_cast<T*>(sim_device_alloc(nbytes));
  return *pointer ? sim_sticky_error() : cudaErrorMemoryAllocation;
}
template <class T>
static inline cudaError_t cudaMallocAsync(T** pointer, size_t nbytes, cudaStream_t) {
  return cudaMalloc(pointer, nbytes);
}
static inline cudaError_t cudaFree(void* pointer) {
  if (pointer && sim_device_free(pointer)) return cudaErrorInvalidValue;
  return sim_sticky_error();
}
static inline cudaError_t cudaFreeAsync(void* pointer, cudaStream_t) { return cudaFree(pointer); }
template <class T>
static inline cudaError_t cudaMallocHost(T** pointer, size_t nbytes) {
  return cudaMalloc(pointer, nbytes);  // the device can read it
}
static inline cudaError_t cudaFreeHost(void* pointer) { return cudaFree(pointer); }
template <class T>
static inline cudaError_t cudaMallocManaged(T** pointer, size_t nbytes, unsigned = 1) {
  return cudaMalloc(pointer, nbytes);
}
static inline cudaError_t cudaMemcpy(void* to, const void* from, size_t nbytes, cudaMemcpyKind) {
  memmove(to, from, nbytes);
  return sim_sticky_error();
}
static inline cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t nbytes, cudaMemcpyKind kind,
                                          cudaStream_t = nullptr) {
  return cudaMemcpy(to, from, nbytes, kind);
}
static inline cudaError_t cudaMemset(void* pointer, int byte, size_t nbytes) {
  sim_fill(pointer, byte, nbytes);
  return sim_sticky_error();
}
static inline cudaError_t cudaMemsetAsync(void* pointer, int byte, size_t nbytes, cudaStream_t = nullptr) {
  return cudaMemset(pointer, byte, nbytes);
}
template <class T>
static inline cudaError_t cudaMemcpyToSymbol(const T& symbol, const void* from, size_t nbytes, size_t offset = 0,
                                             cudaMemcpyKind = cudaMemcpyHostToDevice) {
  if (offset + nbytes > sizeof(T)) return cudaErrorInvalidValue;
  memcpy(const_cast<char*>(reinterpret_cast<const volatile char*>(&symbol)) + offset, from, nbytes);
  return sim_sticky_error();
}
template <class T>
static inline cudaError_t cudaMemcpyToSymbolAsync(const T& symbol, const void* from, size_t nbytes, size_t offset = 0,
                                                  cudaMemcpyKind kind = cudaMemcpyHostToDevice,
                                                  cudaStream_t = nullptr) {
  return cudaMemcpyToSymbol(symbol, from, nbytes, offset, kind);
}
template <class T>
static inline cudaError_t cudaMemcpyFromSymbol(void* to, const T& symbol, size_t nbytes, size_t offset = 0,
                                               cudaMemcpyKind = cudaMemcpyDeviceToHost) {
  if (offset + nbytes > sizeof(T)) return cudaErrorInvalidValue;
  memcpy(to, reinterpret_cast<const char*>(&symbol) + offset, nbytes);
  return sim_sticky_error();
}
template <class T>
static inline cudaError_t cudaGetSymbolAddress(void** address, const T& symbol) {
  *address = const_cast<void*>(static_cast<const volatile void*>(&symbol));
  return sim_sticky_error();
}
static inline cudaError_t cudaMemGetInfo(size_t* free_nbytes, size_t* total_nbytes) {
  *free_nbytes = *total_nbytes = size_t(80) << 30;
  return sim_sticky_error();
}

// Streams and events: one stream, in which all is done at once.
static inline cudaError_t cudaStreamCreate(cudaStream_t* stream) {
  *stream = nullptr;
  return sim_sticky_error();
}
static inline cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) { return cudaStreamCreate(stream); }
static inline cudaError_t cudaStreamDestroy(cudaStream_t) { return cudaSuccess; }
static inline cudaError_t cudaStreamSynchronize(cudaStream_t) { return sim_sticky_error(); }
static inline cudaError_t cudaStreamWaitEvent(cudaStream_t, cudaEvent_t, unsigned = 0) { return cudaSuccess; }
static inline cudaError_t cudaEventCreate(cudaEvent_t* event) {
  *event = nullptr;
  return sim_sticky_error();
}
static inline cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) { return cudaEventCreate(event); }
static inline cudaError_t cudaEventRecord(cudaEvent_t, cudaStream_t = nullptr) { return sim_sticky_error(); }
static inline cudaError_t cudaEventSynchronize(cudaEvent_t) { return sim_sticky_error(); }
static inline cudaError_t cudaEventDestroy(cudaEvent_t) { return cudaSuccess; }
static inline cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t, cudaEvent_t) {
  *milliseconds = 0;
  return sim_sticky_error();
}

// The device.
static inline cudaError_t cudaGetDevice(int* device) {
  *device = 0;
  return cudaSuccess;
}
static inline cudaError_t cudaSetDevice(int device) { return device == 0 ? cudaSuccess : cudaErrorInvalidDevice; }
static inline cudaError_t cudaGetDeviceCount(int* count) {
  *count = 1;
  return cudaSuccess;
}
static inline cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int) {
  *properties = cudaDeviceProp{"Simulated sm_90", size_t(80) << 30, 49152, 232448, 233472, 65536, 65536, 32, 1024,
                               {1024, 1024, 64}, {2147483647, 65535, 65535}, 132, 2048, 32, 9, 0, 50 << 20};
  return cudaSuccess;
}
static inline cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  cudaDeviceProp all;
  cudaGetDeviceProperties(&all, device);
  switch (attribute) {
    case cudaDevAttrMaxThreadsPerBlock:
    case cudaDevAttrMaxBlockDimX: *value = all.maxThreadsPerBlock; break;
    case cudaDevAttrMaxGridDimX: *value = all.maxGridSize[0]; break;
    case cudaDevAttrMaxSharedMemoryPerBlock: *value = int(all.sharedMemPerBlock); break;
    case cudaDevAttrWarpSize: *value = all.warpSize; break;
    case cudaDevAttrMaxRegistersPerBlock: *value = all.regsPerBlock; break;
    case cudaDevAttrMultiProcessorCount: *value = all.multiProcessorCount; break;
    case cudaDevAttrL2CacheSize: *value = all.l2CacheSize; break;
    case cudaDevAttrMaxThreadsPerMultiProcessor: *value = all.maxThreadsPerMultiProcessor; break;
    case cudaDevAttrComputeCapabilityMajor: *value = all.major; break;
    case cudaDevAttrComputeCapabilityMinor: *value = all.minor; break;
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor: *value = int(all.sharedMemPerMultiprocessor); break;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin: *value = int(all.sharedMemPerBlockOptin); break;
    default: return cudaErrorInvalidValue;
  }
  return cudaSuccess;
}

// Kernels.
#define cudaFuncSetAttribute(...) sim::set_kernel_attribute(#__VA_ARGS__, __VA_ARGS__)
namespace sim {
template <class Kernel>
static inline cudaError_t set_kernel_attribute(const char* call, Kernel&&, int attribute, int value) {
  return sim_set_kernel_attribute(call, attribute, value);
}
}  // namespace sim
template <class Kernel>
static inline cudaError_t cudaFuncSetCacheConfig(Kernel&&, cudaFuncCache) {
  return sim_sticky_error();
}
template <class Kernel>
static inline cudaError_t cudaOccupancyMaxPotentialBlockSize(int* grid, int* block, Kernel&&, size_t = 0, int = 0) {
  *grid = 2 * 132;
  *block = 1024;
  return cudaSuccess;
}
template <class Kernel>
static inline cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, Kernel&&, int threads, size_t) {
  *blocks = threads > 0 ? 2048 / threads : 0;
  return cudaSuccess;
}
