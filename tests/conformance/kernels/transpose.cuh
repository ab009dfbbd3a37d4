// A header with shared memory and a launch in it.
#pragma once

template <int TILE>
__global__ void transposed(const float* in, float* out, int n) {
  __shared__ float tile[TILE][TILE + 1];
  int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
  if (x < n && y < n) tile[threadIdx.y][threadIdx.x] = in[y * n + x];
  __syncthreads();
  x = blockIdx.y * TILE + threadIdx.x;
  y = blockIdx.x * TILE + threadIdx.y;
  if (x < n && y < n) out[y * n + x] = tile[threadIdx.x][threadIdx.y];
}

inline void launch_transposed(const float* in, float* out, int n) {
  int blocks = (n + 15) / 16;
  transposed<16><<<dim3(blocks, blocks), dim3(16, 16)>>>(in, out, n);
}
