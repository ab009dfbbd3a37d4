// Barriers, votes and shuffles.
#include "case.h"

__global__ void block_votes(const int* in, int* out) {
  int flag = in[threadIdx.x] > 50;
  int count = __syncthreads_count(flag), all = __syncthreads_and(in[threadIdx.x] >= 0), any = __syncthreads_or(flag);
  out[threadIdx.x] = count * 100 + (all != 0) * 10 + (any != 0);
}

CASE(block_votes) { block_votes<<<1, 200>>>(buffers.at<int>(0), buffers.at<int>(1)); }

__global__ void shuffles(const int* in, int* out) {
  int i = threadIdx.x, x = in[i];
  out[i] = __shfl_sync(0xffffffff, x, 5);
  out[i + 64] = __shfl_sync(0xffffffff, x, i + 3, 8);
  out[i + 128] = __shfl_up_sync(0xffffffff, x, 3);
  out[i + 192] = __shfl_up_sync(0xffffffff, x, 2, 16);
  out[i + 256] = __shfl_down_sync(0xffffffff, x, 4);
  out[i + 320] = __shfl_down_sync(0xffffffff, x, 1, 4);
  out[i + 384] = __shfl_xor_sync(0xffffffff, x, 17);
  out[i + 448] = __shfl_xor_sync(0xffffffff, x, 6, 4);
}

CASE(shuffles) { shuffles<<<1, 64>>>(buffers.at<int>(0), buffers.at<int>(1)); }

__global__ void shuffle_types(const double* in, double* out) {
  int i = threadIdx.x;
  double x = in[i];
  out[i] = __shfl_xor_sync(0xffffffff, x, 1) + __shfl_xor_sync(0xffffffff, (long long)x, 2) +
           __shfl_xor_sync(0xffffffff, (unsigned long long)x, 4) + __shfl_xor_sync(0xffffffff, (float)x, 8) +
           __shfl_xor_sync(0xffffffff, (short)x, 16) + __shfl_sync(0xffffffff, (unsigned char)x, 3);
}

CASE(shuffle_types) { shuffle_types<<<1, 32>>>(buffers.at<double>(0), buffers.at<double>(1)); }

__inline__ __device__ float warp_sum(float value) {
#pragma unroll
  for (int offset = warpSize / 2; offset > 0; offset /= 2) value += __shfl_down_sync(0xffffffff, value, offset);
  return value;
}

__global__ void block_sum(const float* in, float* out) {
  static __shared__ float partial[32];
  float value = warp_sum(in[blockIdx.x * blockDim.x + threadIdx.x]);
  int lane = threadIdx.x % warpSize, warp = threadIdx.x / warpSize;
  if (lane == 0) partial[warp] = value;
  __syncthreads();
  value = threadIdx.x < blockDim.x / warpSize ? partial[lane] : 0.0f;
  if (warp == 0) value = warp_sum(value);
  if (threadIdx.x == 0) out[blockIdx.x] = value;
}

CASE(block_reduction) { block_sum<<<4, 256>>>(buffers.at<float>(0), buffers.at<float>(1)); }

__global__ void votes(const int* in, unsigned* out) {
  int i = threadIdx.x;
  unsigned even = __ballot_sync(0xffffffffu, in[i] % 2 == 0);
  out[i] = even;
  out[i + 32] = __any_sync(0xffffffffu, in[i] > 95) ? 1 : 0;
  out[i + 64] = __all_sync(0xffffffffu, in[i] >= 0) ? 1 : 0;
  if (i < 16) out[i + 96] = __ballot_sync(0x0000ffffu, in[i] > 50);
  else out[i + 96] = __ballot_sync(0xffff0000u, in[i] > 50);
}

CASE(votes) { votes<<<1, 32>>>(buffers.at<int>(0), buffers.at<unsigned>(1)); }

__global__ void active_lanes(unsigned* out) {
  int i = threadIdx.x;
  out[i] = __activemask();
  if (i % 3 == 0) {
    unsigned mask = __activemask();
    int leader = __ffs(mask) - 1;
    out[i + 32] = __shfl_sync(mask, i, leader) * 100 + __popc(mask);
  } else {
    out[i + 32] = __activemask();
  }
}

CASE(active_mask) { active_lanes<<<1, 32>>>(buffers.at<unsigned>(0)); }

__global__ void matches(const int* in, unsigned* out) {
  int i = threadIdx.x, same;
  out[i] = __match_any_sync(0xffffffffu, in[i] % 3);
  out[i + 32] = __match_all_sync(0xffffffffu, 7, &same) + same;
  out[i + 64] = __match_all_sync(0xffffffffu, in[i] % 3, &same) + same;
}

CASE(matches) { matches<<<1, 32>>>(buffers.at<int>(0), buffers.at<unsigned>(1)); }

__global__ void reductions(const int* in, int* out) {
  int i = threadIdx.x, x = in[i] - 50;
  out[i] = __reduce_add_sync(0xffffffffu, x);
  out[i + 32] = __reduce_min_sync(0xffffffffu, x);
  out[i + 64] = __reduce_max_sync(0xffffffffu, x);
  out[i + 96] = int(__reduce_max_sync(0xffffffffu, unsigned(x)));
  out[i + 128] = int(__reduce_and_sync(0xffffffffu, unsigned(x)));
  out[i + 160] = int(__reduce_or_sync(0xffffffffu, unsigned(x)));
  out[i + 192] = int(__reduce_xor_sync(0xffffffffu, unsigned(x)));
  if (i < 8) out[i + 224] = __reduce_add_sync(0xffu, x);
  else out[i + 224] = 0;
}

CASE(warp_reductions) { reductions<<<1, 32>>>(buffers.at<int>(0), buffers.at<int>(1)); }

__global__ void handed_on(int* out) {
  __shared__ int kept[64];
  kept[threadIdx.x] = threadIdx.x;
  __syncwarp();
  int other = kept[threadIdx.x ^ 1];
  __syncwarp(0xffffffff);
  kept[threadIdx.x] = other * 2;
  __threadfence_block();
  __syncthreads();
  out[threadIdx.x] = kept[63 - threadIdx.x];
}

CASE(warp_barrier) { handed_on<<<1, 64>>>(buffers.at<int>(0)); }

__global__ void last_block_sums(const int* in, int* partial, unsigned* done, int* out) {
  __shared__ bool is_last;
  int sum = __reduce_add_sync(0xffffffffu, in[blockIdx.x * 32 + threadIdx.x]);
  if (threadIdx.x == 0) {
    partial[blockIdx.x] = sum;
    __threadfence();
    is_last = atomicInc(done, gridDim.x - 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (is_last && threadIdx.x == 0) {
    int total = 0;
    for (unsigned i = 0; i < gridDim.x; i++) total += ((volatile int*)partial)[i];
    *out = total;
  }
}

CASE(last_block) {
  int* partial;
  unsigned* done;
  cudaMalloc(&partial, 16 * sizeof(int));
  cudaMalloc(&done, sizeof(unsigned));
  cudaMemset(done, 0, sizeof(unsigned));
  last_block_sums<<<16, 32>>>(buffers.at<int>(0), partial, done, buffers.at<int>(1));
  cudaFree(partial);
  cudaFree(done);
}
