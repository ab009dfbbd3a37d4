// The CUDA runtime API on one device and one stream: every call is done when it returns.
#pragma once
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>

#include "sim/abi.h"
#include "sim/capture.h"
#include "sim/runtime_types.h"

// Errors.
static inline const char* cudaGetErrorString(cudaError_t error) { return sim_error_string(error); }
static inline const char* cudaGetErrorName(cudaError_t error) {
  switch (error) {
#define SIM_ERROR(name, number) \
  case name: return #name;
    SIM_ERRORS(SIM_ERROR)
#undef SIM_ERROR
  }
  return "unrecognized error code";
}
static inline cudaError_t cudaGetLastError() { return sim_last_error(1); }
static inline cudaError_t cudaPeekAtLastError() { return sim_last_error(0); }
static inline cudaError_t cudaDeviceSynchronize() { return sim_synchronize(); }

// Memory.
template <class T>
static inline cudaError_t cudaMalloc(T** pointer, size_t nbytes) {
  *pointer = nullptr;
  if (sim_is_capturing()) return sim_synchronize();
  *pointer = static_cast<T*>(sim_device_alloc(nbytes));
  return *pointer ? sim_sticky_error() : cudaErrorMemoryAllocation;
}
template <class T>
static inline cudaError_t cudaMallocAsync(T** pointer, size_t nbytes, cudaStream_t) {
  sim_refuse_in_capture("cudaMallocAsync");
  return cudaMalloc(pointer, nbytes);
}
static inline cudaError_t cudaFree(void* pointer) {
  sim_refuse_in_capture("cudaFree");
  if (pointer && sim_device_free(pointer)) return cudaErrorInvalidValue;
  return sim_sticky_error();
}
static inline cudaError_t cudaFreeAsync(void* pointer, cudaStream_t) { return cudaFree(pointer); }
// The device's own pool, which keeps nothing; a solution sets when it would give memory back.
static inline cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int device) {
  *pool = reinterpret_cast<cudaMemPool_t>(0x1);
  return device == 0 ? cudaSuccess : cudaErrorInvalidDevice;
}
static inline cudaError_t cudaDeviceGetMemPool(cudaMemPool_t* pool, int device) {
  return cudaDeviceGetDefaultMemPool(pool, device);
}
static inline cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t, cudaMemPoolAttr, void*) { return sim_sticky_error(); }
static inline cudaError_t cudaMemPoolTrimTo(cudaMemPool_t, size_t) { return sim_sticky_error(); }
template <class T>
static inline cudaError_t cudaMallocFromPoolAsync(T** pointer, size_t nbytes, cudaMemPool_t, cudaStream_t) {
  sim_refuse_in_capture("cudaMallocFromPoolAsync");
  return cudaMalloc(pointer, nbytes);
}
template <class T>
static inline cudaError_t cudaMallocHost(T** pointer, size_t nbytes) {
  cudaError_t error = cudaMalloc(pointer, nbytes);  // the device can read it
  if (*pointer) sim_mark_written(*pointer, nbytes);  // the host writes when it likes, unseen
  return error;
}
template <class T>
static inline cudaError_t cudaHostAlloc(T** pointer, size_t nbytes, unsigned) {
  return cudaMallocHost(pointer, nbytes);
}
static inline cudaError_t cudaFreeHost(void* pointer) { return cudaFree(pointer); }
template <class T>
static inline cudaError_t cudaHostGetDevicePointer(T** on_device, void* on_host, unsigned) {
  *on_device = static_cast<T*>(on_host);
  return sim_sticky_error();
}
template <class T>
static inline cudaError_t cudaMallocManaged(T** pointer, size_t nbytes, unsigned = 1) {
  return cudaMallocHost(pointer, nbytes);
}
static inline cudaError_t cudaMemcpy(void* to, const void* from, size_t nbytes, cudaMemcpyKind) {
  memmove(to, from, nbytes);
  return sim_sticky_error();
}
// A graph's copies read and write when it is replayed, by which time the host's memory may be gone.
static inline bool sim_captures_copy(cudaStream_t stream, const void* to, const void* from) {
  if (!sim_captures(stream)) return false;
  if (!sim_is_device_memory(to) || !sim_is_device_memory(from)) sim_refuse_in_capture("a copy of the host's memory");
  return true;
}
static inline cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t nbytes, cudaMemcpyKind kind,
                                          cudaStream_t stream = nullptr) {
  if (sim_captures_copy(stream, to, from)) {
    sim::is_captured(stream, [=] { cudaMemcpy(to, from, nbytes, kind); });
    return cudaSuccess;
  }
  return cudaMemcpy(to, from, nbytes, kind);
}
// `pitch` is the distance of two rows in bytes, `width` a row's bytes.
static inline cudaError_t cudaMemcpy2D(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                                       size_t height, cudaMemcpyKind kind) {
  if (width > to_pitch || width > from_pitch) return cudaErrorInvalidPitchValue;
  for (size_t row = 0; row < height; row++)
    cudaMemcpy(static_cast<char*>(to) + row * to_pitch, static_cast<const char*>(from) + row * from_pitch, width, kind);
  return sim_sticky_error();
}
static inline cudaError_t cudaMemcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch,
                                            size_t width, size_t height, cudaMemcpyKind kind,
                                            cudaStream_t stream = nullptr) {
  if (sim_captures(stream)) sim_refuse_in_capture("cudaMemcpy2DAsync");
  return cudaMemcpy2D(to, to_pitch, from, from_pitch, width, height, kind);
}
template <class T>
static inline cudaError_t cudaMallocPitch(T** pointer, size_t* pitch, size_t width, size_t height) {
  *pitch = (width + 511) / 512 * 512;
  return cudaMalloc(pointer, *pitch * height);
}
static inline cudaError_t cudaMemset(void* pointer, int byte, size_t nbytes) {
  sim_fill(pointer, byte, nbytes);
  return sim_sticky_error();
}
static inline cudaError_t cudaMemsetAsync(void* pointer, int byte, size_t nbytes, cudaStream_t stream = nullptr) {
  if (sim::is_captured(stream, [=] { cudaMemset(pointer, byte, nbytes); })) return cudaSuccess;
  return cudaMemset(pointer, byte, nbytes);
}
static inline cudaError_t cudaMemset2D(void* pointer, size_t pitch, int byte, size_t width, size_t height) {
  if (width > pitch) return cudaErrorInvalidPitchValue;
  for (size_t row = 0; row < height; row++) sim_fill(static_cast<char*>(pointer) + row * pitch, byte, width);
  return sim_sticky_error();
}
static inline cudaError_t cudaMemset2DAsync(void* pointer, size_t pitch, int byte, size_t width, size_t height,
                                            cudaStream_t stream = nullptr) {
  if (sim_captures(stream)) sim_refuse_in_capture("cudaMemset2DAsync");
  return cudaMemset2D(pointer, pitch, byte, width, height);
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
                                                  cudaStream_t stream = nullptr) {
  if (sim_captures(stream)) sim_refuse_in_capture("cudaMemcpyToSymbolAsync");
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
// All that a kernel may read is the device's here, pinned and managed memory as well.
static inline cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer) {
  bool is_device = sim_is_device_memory(pointer);
  void* address = const_cast<void*>(pointer);
  *attributes = {is_device ? cudaMemoryTypeDevice : cudaMemoryTypeUnregistered, is_device ? 0 : -2,
                 is_device ? address : nullptr, is_device ? nullptr : address};
  return sim_sticky_error();
}
static inline cudaError_t cudaMemGetInfo(size_t* free_nbytes, size_t* total_nbytes) {
  *free_nbytes = *total_nbytes = size_t(80) << 30;
  return sim_sticky_error();
}

template <class T>
static inline cudaError_t cudaMemcpyFromSymbolAsync(void* to, const T& symbol, size_t nbytes, size_t offset = 0,
                                                    cudaMemcpyKind kind = cudaMemcpyDeviceToHost,
                                                    cudaStream_t stream = nullptr) {
  if (sim_captures(stream)) sim_refuse_in_capture("cudaMemcpyFromSymbolAsync");
  return cudaMemcpyFromSymbol(to, symbol, nbytes, offset, kind);
}
template <class T>
static inline cudaError_t cudaGetSymbolSize(size_t* nbytes, const T&) {
  *nbytes = sizeof(T);
  return sim_sticky_error();
}

// Streams and events. Whatever the stream, all is done when the call returns; a handle is only told apart.
struct CUstream_st {
  unsigned flags;
  int priority;
};
struct CUevent_st {
  bool is_recorded, has_time;
  std::chrono::steady_clock::time_point time;
};

static inline cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int priority) {
  if (flags & cudaStreamNonBlocking) sim_note_stream("cudaStreamNonBlocking");
  *stream = new CUstream_st{flags, priority};
  return sim_sticky_error();
}
static inline cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  return cudaStreamCreateWithPriority(stream, flags, 0);
}
static inline cudaError_t cudaStreamCreate(cudaStream_t* stream) { return cudaStreamCreateWithFlags(stream, 0); }
namespace sim {
static inline bool is_created(cudaStream_t stream) {
  return stream != nullptr && stream != cudaStreamLegacy && stream != cudaStreamPerThread;
}
}  // namespace sim
static inline cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  if (!sim::is_created(stream)) return cudaErrorInvalidResourceHandle;
  delete stream;
  return sim_sticky_error();
}
static inline cudaError_t cudaStreamSynchronize(cudaStream_t) { return sim_synchronize(); }
static inline cudaError_t cudaStreamQuery(cudaStream_t) { return sim_synchronize(); }
static inline cudaError_t cudaStreamWaitEvent(cudaStream_t, cudaEvent_t, unsigned = 0) { return sim_sticky_error(); }
static inline cudaError_t cudaStreamGetFlags(cudaStream_t stream, unsigned* flags) {
  *flags = sim::is_created(stream) ? stream->flags : cudaStreamDefault;
  return sim_sticky_error();
}
static inline cudaError_t cudaStreamGetPriority(cudaStream_t stream, int* priority) {
  *priority = sim::is_created(stream) ? stream->priority : 0;
  return sim_sticky_error();
}
static inline cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* data) {
  if (sim_captures(stream)) sim_refuse_in_capture("cudaLaunchHostFunc");
  function(data);
  return sim_sticky_error();
}
static inline cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t function, void* data,
                                                unsigned) {
  if (sim_captures(stream)) sim_refuse_in_capture("cudaStreamAddCallback");
  function(stream, sim_sticky_error(), data);
  return sim_sticky_error();
}

static inline cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  *event = new CUevent_st{false, !(flags & cudaEventDisableTiming), {}};
  return sim_sticky_error();
}
static inline cudaError_t cudaEventCreate(cudaEvent_t* event, unsigned flags = 0) {
  return cudaEventCreateWithFlags(event, flags);
}
static inline cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t = nullptr) {
  if (!event) return cudaErrorInvalidResourceHandle;
  event->is_recorded = true;
  event->time = std::chrono::steady_clock::now();
  return sim_sticky_error();
}
static inline cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t = nullptr, unsigned = 0) {
  return cudaEventRecord(event);
}
static inline cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  return event ? sim_sticky_error() : cudaErrorInvalidResourceHandle;
}
static inline cudaError_t cudaEventQuery(cudaEvent_t event) { return cudaEventSynchronize(event); }
static inline cudaError_t cudaEventDestroy(cudaEvent_t event) {
  if (!event) return cudaErrorInvalidResourceHandle;
  delete event;
  return sim_sticky_error();
}
// The CPU's time, which says nothing of a GPU's; only its order is right.
static inline cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
  if (!start || !end || !start->is_recorded || !end->is_recorded || !start->has_time || !end->has_time)
    return cudaErrorInvalidResourceHandle;
  *milliseconds = std::chrono::duration<float, std::milli>(end->time - start->time).count();
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
static inline cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  if (device != 0) return cudaErrorInvalidDevice;
  *properties = cudaDeviceProp();
  return cudaSuccess;
}
static inline cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  if (device != 0) return cudaErrorInvalidDevice;
  switch (attribute) {
#define SIM_ATTRIBUTE(name, number, its_value) \
  case cudaDevAttr##name: *value = its_value; return cudaSuccess;
    SIM_DEVICE_ATTRIBUTES(SIM_ATTRIBUTE)
#undef SIM_ATTRIBUTE
  }
  return cudaErrorInvalidValue;
}
static inline cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}
static inline cudaError_t cudaDriverGetVersion(int* version) { return cudaRuntimeGetVersion(version); }
static inline cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  *least = 0;
  *greatest = -5;
  return cudaSuccess;
}
static inline cudaError_t cudaDeviceSetLimit(cudaLimit, size_t) { return sim_sticky_error(); }
static inline cudaError_t cudaDeviceSetCacheConfig(cudaFuncCache) { return sim_sticky_error(); }
static inline cudaError_t cudaDeviceSetSharedMemConfig(cudaSharedMemConfig) { return sim_sticky_error(); }
static inline cudaError_t cudaSetDeviceFlags(unsigned) { return sim_sticky_error(); }
static inline cudaError_t cudaCtxResetPersistingL2Cache() { return sim_sticky_error(); }
static inline cudaError_t cudaDeviceCanAccessPeer(int* can, int, int) {
  *can = 0;
  return cudaSuccess;
}

// Kernels.
#define cudaFuncSetAttribute(...) sim::set_kernel_attribute(SIM_TEXT(__VA_ARGS__), __VA_ARGS__)
namespace sim {
template <class Kernel>
static inline cudaError_t set_kernel_attribute(const char* call, Kernel&& kernel, int attribute, int value) {
  const void* address = nullptr;
  if constexpr (std::is_pointer_v<std::decay_t<Kernel>>) address = (const void*)kernel;
  return sim_set_kernel_attribute(call, address, attribute, value);
}
}  // namespace sim
template <class Kernel>
static inline cudaError_t cudaFuncSetCacheConfig(Kernel&&, cudaFuncCache) {
  return sim_sticky_error();
}

// For 64 registers, 1,024 threads a multiprocessor: what registers and static shared memory a kernel takes is known to
// nvcc alone.
template <class Kernel>
static inline cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, Kernel&&, int threads,
                                                                        size_t dynamic_shared) {
  if (threads <= 0) return cudaErrorInvalidValue;
  *blocks = sim_blocks_per_multiprocessor(threads, dynamic_shared);
  return sim_sticky_error();
}
template <class Kernel>
static inline cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, Kernel&& kernel,
                                                                                 int threads, size_t dynamic_shared,
                                                                                 unsigned) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, kernel, threads, dynamic_shared);
}
// As CUDA looks for it: the largest block of those with most threads resident. `shared_of` gives a block's dynamic
// shared memory from its threads.
template <class Kernel, class SharedOf>
static inline cudaError_t cudaOccupancyMaxPotentialBlockSizeVariableSMem(int* grid, int* block, Kernel&& kernel,
                                                                         SharedOf shared_of, int limit = 0) {
  limit = limit > 0 ? std::min(1024, limit) : 1024;
  *grid = *block = 0;
  int most_resident = 0;
  for (int rounded = (limit + 31) / 32 * 32; rounded > 0; rounded -= 32) {
    int threads = std::min(limit, rounded), blocks = 0;
    cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, threads, shared_of(threads));
    if (blocks * threads <= most_resident) continue;
    most_resident = blocks * threads;
    *block = threads;
    *grid = blocks * 132;
  }
  return sim_sticky_error();
}
template <class Kernel>
static inline cudaError_t cudaOccupancyMaxPotentialBlockSize(int* grid, int* block, Kernel&& kernel,
                                                             size_t dynamic_shared = 0, int limit = 0) {
  auto shared_of = [dynamic_shared](int) { return dynamic_shared; };
  return cudaOccupancyMaxPotentialBlockSizeVariableSMem(grid, block, kernel, shared_of, limit);
}
template <class Kernel>
static inline cudaError_t cudaOccupancyMaxPotentialBlockSizeWithFlags(int* grid, int* block, Kernel&& kernel,
                                                                      size_t dynamic_shared = 0, int limit = 0,
                                                                      unsigned = 0) {
  return cudaOccupancyMaxPotentialBlockSize(grid, block, kernel, dynamic_shared, limit);
}
