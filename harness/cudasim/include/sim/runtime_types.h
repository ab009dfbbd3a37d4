// Types and constants of the CUDA runtime API, with CUDA's own values.
#pragma once
#include <cstddef>

#include "sim/abi.h"

typedef struct CUstream_st* cudaStream_t;
typedef struct CUevent_st* cudaEvent_t;
typedef void (*cudaHostFn_t)(void*);
typedef void (*cudaStreamCallback_t)(cudaStream_t, cudaError_t, void*);

enum cudaMemcpyKind {
  cudaMemcpyHostToHost,
  cudaMemcpyHostToDevice,
  cudaMemcpyDeviceToHost,
  cudaMemcpyDeviceToDevice,
  cudaMemcpyDefault
};

enum cudaMemoryType {
  cudaMemoryTypeUnregistered,
  cudaMemoryTypeHost,
  cudaMemoryTypeDevice,
  cudaMemoryTypeManaged
};

struct cudaPointerAttributes {
  cudaMemoryType type;
  int device;
  void *devicePointer, *hostPointer;
};

typedef struct CUmemPoolHandle_st* cudaMemPool_t;

enum cudaMemPoolAttr {
  cudaMemPoolReuseFollowEventDependencies = 1,
  cudaMemPoolReuseAllowOpportunistic,
  cudaMemPoolReuseAllowInternalDependencies,
  cudaMemPoolAttrReleaseThreshold,
  cudaMemPoolAttrReservedMemCurrent,
  cudaMemPoolAttrReservedMemHigh,
  cudaMemPoolAttrUsedMemCurrent,
  cudaMemPoolAttrUsedMemHigh
};

enum cudaFuncAttribute {
  cudaFuncAttributeMaxDynamicSharedMemorySize = 8,
  cudaFuncAttributePreferredSharedMemoryCarveout = 9
};

enum cudaSharedCarveout {
  cudaSharedmemCarveoutDefault = -1,
  cudaSharedmemCarveoutMaxShared = 100,
  cudaSharedmemCarveoutMaxL1 = 0
};

enum cudaFuncCache { cudaFuncCachePreferNone, cudaFuncCachePreferShared, cudaFuncCachePreferL1, cudaFuncCachePreferEqual };
enum cudaSharedMemConfig {
  cudaSharedMemBankSizeDefault,
  cudaSharedMemBankSizeFourByte,
  cudaSharedMemBankSizeEightByte
};

enum cudaComputeMode {
  cudaComputeModeDefault,
  cudaComputeModeExclusive,
  cudaComputeModeProhibited,
  cudaComputeModeExclusiveProcess
};

enum cudaLimit {
  cudaLimitStackSize,
  cudaLimitPrintfFifoSize,
  cudaLimitMallocHeapSize,
  cudaLimitDevRuntimeSyncDepth,
  cudaLimitDevRuntimePendingLaunchCount,
  cudaLimitMaxL2FetchGranularity,
  cudaLimitPersistingL2CacheSize
};

// Each line: the attribute, its number, and its value on an H100 (of SXM form, 80 GB).
#define SIM_DEVICE_ATTRIBUTES(ITEM)                            \
  ITEM(MaxThreadsPerBlock, 1, 1024)                            \
  ITEM(MaxBlockDimX, 2, 1024)                                  \
  ITEM(MaxBlockDimY, 3, 1024)                                  \
  ITEM(MaxBlockDimZ, 4, 64)                                    \
  ITEM(MaxGridDimX, 5, 2147483647)                             \
  ITEM(MaxGridDimY, 6, 65535)                                  \
  ITEM(MaxGridDimZ, 7, 65535)                                  \
  ITEM(MaxSharedMemoryPerBlock, 8, 49152)                      \
  ITEM(TotalConstantMemory, 9, 65536)                          \
  ITEM(WarpSize, 10, 32)                                       \
  ITEM(MaxPitch, 11, 2147483647)                               \
  ITEM(MaxRegistersPerBlock, 12, 65536)                        \
  ITEM(ClockRate, 13, 1980000)                                 \
  ITEM(TextureAlignment, 14, 512)                              \
  ITEM(GpuOverlap, 15, 1)                                      \
  ITEM(MultiProcessorCount, 16, 132)                           \
  ITEM(KernelExecTimeout, 17, 0)                               \
  ITEM(Integrated, 18, 0)                                      \
  ITEM(CanMapHostMemory, 19, 1)                                \
  ITEM(ComputeMode, 20, 0)                                     \
  ITEM(ConcurrentKernels, 31, 1)                               \
  ITEM(EccEnabled, 32, 1)                                      \
  ITEM(TccDriver, 35, 0)                                       \
  ITEM(MemoryClockRate, 36, 2619000)                           \
  ITEM(GlobalMemoryBusWidth, 37, 5120)                         \
  ITEM(L2CacheSize, 38, 52428800)                              \
  ITEM(MaxThreadsPerMultiProcessor, 39, 2048)                  \
  ITEM(AsyncEngineCount, 40, 3)                                \
  ITEM(UnifiedAddressing, 41, 1)                               \
  ITEM(ComputeCapabilityMajor, 75, 9)                          \
  ITEM(ComputeCapabilityMinor, 76, 0)                          \
  ITEM(StreamPrioritiesSupported, 78, 1)                       \
  ITEM(GlobalL1CacheSupported, 79, 1)                          \
  ITEM(LocalL1CacheSupported, 80, 1)                           \
  ITEM(MaxSharedMemoryPerMultiprocessor, 81, 233472)           \
  ITEM(MaxRegistersPerMultiprocessor, 82, 65536)               \
  ITEM(ManagedMemory, 83, 1)                                   \
  ITEM(SingleToDoublePrecisionPerfRatio, 87, 2)                \
  ITEM(ConcurrentManagedAccess, 89, 1)                         \
  ITEM(CooperativeLaunch, 95, 1)                               \
  ITEM(MaxSharedMemoryPerBlockOptin, 97, 232448)               \
  ITEM(MaxBlocksPerMultiprocessor, 106, 32)                    \
  ITEM(ReservedSharedMemoryPerBlock, 111, 1024)                \
  ITEM(MemoryPoolsSupported, 115, 1)

#define SIM_ATTRIBUTE(name, number, value) cudaDevAttr##name = number,
enum cudaDeviceAttr { SIM_DEVICE_ATTRIBUTES(SIM_ATTRIBUTE) };
#undef SIM_ATTRIBUTE

struct CUuuid_st {
  char bytes[16];
};
typedef CUuuid_st CUuuid, cudaUUID_t;

struct cudaDeviceProp {
  char name[256] = "Simulated sm_90";
  cudaUUID_t uuid = {};
  char luid[8] = {};
  unsigned luidDeviceNodeMask = 0;
  size_t totalGlobalMem = size_t(80) << 30;
  size_t sharedMemPerBlock = 49152;
  int regsPerBlock = 65536;
  int warpSize = 32;
  size_t memPitch = 2147483647;
  int maxThreadsPerBlock = 1024;
  int maxThreadsDim[3] = {1024, 1024, 64};
  int maxGridSize[3] = {2147483647, 65535, 65535};
  size_t totalConstMem = 65536;
  int major = 9, minor = 0;
  size_t textureAlignment = 512, texturePitchAlignment = 32, surfaceAlignment = 512;
  int maxTexture1D = 131072, maxTexture1DMipmap = 32768;
  int maxTexture2D[2] = {131072, 65536}, maxTexture3D[3] = {16384, 16384, 16384};
  int multiProcessorCount = 132;
  int integrated = 0;
  int canMapHostMemory = 1;
  int concurrentKernels = 1;
  int ECCEnabled = 1;
  int pciBusID = 0, pciDeviceID = 0, pciDomainID = 0;
  int tccDriver = 0;
  int asyncEngineCount = 3;
  int unifiedAddressing = 1;
  int memoryBusWidth = 5120;
  int l2CacheSize = 50 << 20;
  int persistingL2CacheMaxSize = 0;
  int maxThreadsPerMultiProcessor = 2048;
  int streamPrioritiesSupported = 1;
  int globalL1CacheSupported = 1, localL1CacheSupported = 1;
  size_t sharedMemPerMultiprocessor = 233472;
  int regsPerMultiprocessor = 65536;
  int managedMemory = 1;
  int isMultiGpuBoard = 0, multiGpuBoardGroupID = 0;
  int hostNativeAtomicSupported = 0;
  int pageableMemoryAccess = 0;
  int concurrentManagedAccess = 1;
  int computePreemptionSupported = 1;
  int canUseHostPointerForRegisteredMem = 1;
  int cooperativeLaunch = 1;
  size_t sharedMemPerBlockOptin = 232448;
  int maxBlocksPerMultiProcessor = 32;
  int accessPolicyMaxWindowSize = 0;
  size_t reservedSharedMemPerBlock = 1024;
  int hostRegisterSupported = 1;
  int memoryPoolsSupported = 1;
  int clusterLaunch = 1;
};

#define cudaStreamDefault 0
#define cudaStreamNonBlocking 1
#define cudaStreamLegacy ((cudaStream_t)0x1)
#define cudaStreamPerThread ((cudaStream_t)0x2)
#define cudaEventDefault 0
#define cudaEventBlockingSync 1
#define cudaEventDisableTiming 2
#define cudaEventInterprocess 4
#define cudaEventRecordDefault 0
#define cudaEventWaitDefault 0
#define cudaHostAllocDefault 0
#define cudaHostAllocPortable 1
#define cudaHostAllocMapped 2
#define cudaHostAllocWriteCombined 4
#define cudaHostRegisterDefault 0
#define cudaHostRegisterPortable 1
#define cudaHostRegisterMapped 2
#define cudaMemAttachGlobal 1
#define cudaMemAttachHost 2
#define cudaDeviceScheduleAuto 0
#define cudaDeviceScheduleSpin 1
#define cudaDeviceScheduleYield 2
#define cudaDeviceScheduleBlockingSync 4
#define cudaOccupancyDefault 0
#define cudaCpuDeviceId (-1)
