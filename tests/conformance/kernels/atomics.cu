// Atomic operations on every type that has them.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "case.h"

template <typename T>
__global__ void add_all(const T* in, T* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(out, in[i]);
}

#define ADD_CASE(name, T, width)                                                         \
  CASE(name) {                                                                           \
    int n = buffers.size(0) / width;                                                     \
    add_all<<<(n + 63) / 64, 64>>>(buffers.at<T>(0), buffers.at<T>(1), n);               \
  }
ADD_CASE(atomic_add_int, int, 1)
ADD_CASE(atomic_add_unsigned_long_long, unsigned long long, 1)
ADD_CASE(atomic_add_float, float, 1)
ADD_CASE(atomic_add_double, double, 1)
ADD_CASE(atomic_add_half, __half, 1)
ADD_CASE(atomic_add_half2, __half2, 2)
ADD_CASE(atomic_add_bfloat16, __nv_bfloat16, 1)
ADD_CASE(atomic_add_bfloat162, __nv_bfloat162, 2)
ADD_CASE(atomic_add_float2, float2, 2)
ADD_CASE(atomic_add_float4, float4, 4)

template <typename T>
__global__ void extremes(const T* in, T* out) {
  atomicMax(out, in[threadIdx.x]);
  atomicMin(out + 1, in[threadIdx.x]);
  atomicAnd(out + 2, in[threadIdx.x]);
  atomicOr(out + 3, in[threadIdx.x]);
  atomicXor(out + 4, in[threadIdx.x]);
}

CASE(atomic_extremes_and_bits) {
  extremes<<<1, 100>>>(buffers.at<int>(0), buffers.at<int>(2));
  extremes<<<1, 100>>>(buffers.at<unsigned long long>(1), buffers.at<unsigned long long>(3));
}

__global__ void signed_extremes(const long long* in, long long* out) {
  atomicMax(out, in[threadIdx.x]);
  atomicMin(out + 1, in[threadIdx.x]);
}

CASE(atomic_signed_extremes) {
  signed_extremes<<<1, 100>>>(buffers.at<long long>(0), buffers.at<long long>(1));
}

__global__ void counters(unsigned* out) {
  atomicInc(out, 9);
  atomicDec(out + 1, 6);
  atomicSub(reinterpret_cast<int*>(out + 2), 3);
  atomicSub(out + 3, 2u);
  if (threadIdx.x == 0) out[4] = atomicExch(out + 5, 123u);
}

CASE(atomic_counters) { counters<<<1, 32>>>(buffers.at<unsigned>(0)); }

__global__ void exchanges(float* floats, unsigned long long* wide) {
  floats[1] = atomicExch(floats, 2.5f);
  wide[1] = atomicExch(wide, 1ull << 40);
}

CASE(atomic_exchange) { exchanges<<<1, 1>>>(buffers.at<float>(0), buffers.at<unsigned long long>(1)); }

__device__ float atomic_max_float(float* address, float value) {
  int* bits = reinterpret_cast<int*>(address);
  int old = *bits, assumed;
  do {
    assumed = old;
    old = atomicCAS(bits, assumed, __float_as_int(fmaxf(value, __int_as_float(assumed))));
  } while (assumed != old);
  return __int_as_float(old);
}

__global__ void largest(const float* in, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomic_max_float(out, in[i]);
}

CASE(atomic_compare_and_swap) {
  largest<<<8, 128>>>(buffers.at<float>(0), buffers.at<float>(1), buffers.size(0));
}

__global__ void narrow_and_wide_swaps(unsigned short* narrow, unsigned long long* wide) {
  unsigned short old, assumed;
  old = *narrow;
  do {
    assumed = old;
    old = atomicCAS(narrow, assumed, (unsigned short)(assumed + 3));
  } while (assumed != old);
  unsigned long long old_wide = *wide, assumed_wide;
  do {
    assumed_wide = old_wide;
    old_wide = atomicCAS(wide, assumed_wide, assumed_wide * 2 + 1);
  } while (assumed_wide != old_wide);
}

CASE(atomic_swap_widths) {
  narrow_and_wide_swaps<<<1, 32>>>(buffers.at<unsigned short>(0), buffers.at<unsigned long long>(1));
}

struct alignas(16) Sixteen {
  long long sum, count;
};

__global__ void widest_swaps(Sixteen* added, int4* exchanged) {
  Sixteen old = *added, assumed;
  do {
    assumed = old;
    old = atomicCAS(added, assumed, Sixteen{assumed.sum + threadIdx.x, assumed.count + 1});
  } while (assumed.sum != old.sum || assumed.count != old.count);
  if (threadIdx.x == 0 && blockIdx.x == 0) exchanged[1] = atomicExch(exchanged, make_int4(1, 2, 3, 4));
}

CASE(atomic_swaps_of_16_bytes) { widest_swaps<<<2, 32>>>(buffers.at<Sixteen>(0), buffers.at<int4>(1)); }

__global__ void scopes(int* out) {
  __shared__ int in_block;
  if (threadIdx.x == 0) in_block = 0;
  __syncthreads();
  atomicAdd_block(&in_block, 2);
  atomicMax_block(out + 1, int(threadIdx.x));
  atomicOr_system(out + 2, 1 << (threadIdx.x % 31));
  atomicCAS_system(out + 3, 0, 77);
  __syncthreads();
  if (threadIdx.x == 0) atomicAdd_system(out, in_block);
}

CASE(atomic_scopes) { scopes<<<3, 64>>>(buffers.at<int>(0)); }

__global__ void histogram(const unsigned char* in, int* out, int n) {
  __shared__ int bins[16];
  if (threadIdx.x < 16) bins[threadIdx.x] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&bins[in[i] >> 4], 1);
  __syncthreads();
  if (threadIdx.x < 16) atomicAdd(&out[threadIdx.x], bins[threadIdx.x]);
}

CASE(shared_histogram) {
  histogram<<<4, 64>>>(buffers.at<unsigned char>(0), buffers.at<int>(1), buffers.size(0));
}

__global__ void spin_lock(int* lock, int* out) {
  if (threadIdx.x == 0) {
    while (atomicCAS(lock, 0, 1) != 0) {}
    __threadfence();
    *(volatile int*)out += 1;
    __threadfence();
    atomicExch(lock, 0);
  }
}

CASE(spin_lock) {
  int* lock;
  cudaMalloc(&lock, sizeof(int));
  cudaMemset(lock, 0, sizeof(int));
  spin_lock<<<20, 32>>>(lock, buffers.at<int>(0));
  cudaFree(lock);
}
