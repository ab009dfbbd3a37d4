// The functions that __half and __nv_bfloat16 share; half.cu and bfloat16.cu name their own spellings.
#pragma once
#include "case.h"

template <typename T>
__global__ void arithmetic(const T* a, const T* b, const T* c, T* out, int n) {
  int i = threadIdx.x;
  if (i >= n) return;
  T x = a[i], y = b[i], z = c[i];
  int row = 0;
  out[n * row++ + i] = __hadd_rn(x, y);
  out[n * row++ + i] = __hsub_rn(x, y);
  out[n * row++ + i] = __hmul_rn(x, y);
  out[n * row++ + i] = __hfma(x, y, z);
  out[n * row++ + i] = __hadd_sat(x, y);
  out[n * row++ + i] = __hfma_sat(x, y, z);
  out[n * row++ + i] = __hfma_relu(x, y, z);
  out[n * row++ + i] = __hneg(x);
  out[n * row++ + i] = __habs(x);
  out[n * row++ + i] = __hmax(x, y);
  out[n * row++ + i] = __hmin(x, y);
}

template <typename T, typename T2>
__global__ void pairs(const T2* a, const T2* b, const T2* c, T2* out, int n) {
  int i = threadIdx.x;
  if (i >= n) return;
  T2 x = a[i], y = b[i], z = c[i];
  int row = 0;
  out[n * row++ + i] = __hadd2_rn(x, y);
  out[n * row++ + i] = __hmul2_rn(x, y);
  out[n * row++ + i] = __hfma2(x, y, z);
  out[n * row++ + i] = __hneg2(x);
  out[n * row++ + i] = __hmax2(x, y);
  out[n * row++ + i] = __hgt2(x, y);
  out[n * row++ + i] = __lowhigh2highlow(x);
  out[n * row++ + i] = __ldg(&b[i]);
  out[n * row++ + i] = __shfl_xor_sync(0xffffffffu, x, 1);
}

template <typename T, typename T2>
__global__ void comparisons(const T* a, const T* b, int* out, int n) {
  int i = threadIdx.x;
  if (i >= n) return;
  T x = a[i], y = b[i];
  T2 two = T2(x, y), swapped = T2(y, x);
  out[i] = __heq(x, y) | __hne(x, y) << 1 | __hlt(x, y) << 2 | __hle(x, y) << 3 | __hgt(x, y) << 4 | __hge(x, y) << 5;
  out[n + i] = __hequ(x, y) | __hneu(x, y) << 1 | __hltu(x, y) << 2 | __hleu(x, y) << 3 | __hgtu(x, y) << 4 |
               __hgeu(x, y) << 5 | __hisnan(x) << 6;
  out[2 * n + i] = int(__hlt2_mask(two, swapped));
  out[3 * n + i] = __hbeq2(two, swapped) | __hble2(two, swapped) << 1 | __hbneu2(two, swapped) << 2;
}

template <typename T>
__global__ void functions(const T* in, T* out, int n) {
  int i = threadIdx.x;
  if (i >= n) return;
  T x = in[i];
  int row = 0;
  out[n * row++ + i] = hsqrt(x);
  out[n * row++ + i] = hrsqrt(x);
  out[n * row++ + i] = hrcp(x);
  out[n * row++ + i] = hexp(x);
  out[n * row++ + i] = hexp2(x);
  out[n * row++ + i] = hlog(x);
  out[n * row++ + i] = hlog2(x);
  out[n * row++ + i] = hsin(x);
  out[n * row++ + i] = hcos(x);
  out[n * row++ + i] = __hdiv(x, in[0]);
}

template <typename T>
__global__ void whole_parts(const T* in, T* out, int n) {
  int i = threadIdx.x;
  if (i >= n) return;
  out[i] = hfloor(in[i]);
  out[n + i] = hceil(in[i]);
  out[2 * n + i] = htrunc(in[i]);
  out[3 * n + i] = hrint(in[i]);
}
