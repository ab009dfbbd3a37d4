// __half and __half2.
#include <cuda_fp16.h>

#include "sixteen_bit.h"

CASE(half_arithmetic) {
  arithmetic<<<1, 64>>>(buffers.at<__half>(0), buffers.at<__half>(1), buffers.at<__half>(2), buffers.at<__half>(3),
                        buffers.size(0));
}
CASE(half2_arithmetic) {
  pairs<half, half2><<<1, 32>>>(buffers.at<half2>(0), buffers.at<half2>(1), buffers.at<half2>(2), buffers.at<half2>(3),
                                buffers.size(0) / 2);
}
CASE(half_comparisons) {
  comparisons<half, half2><<<1, 64>>>(buffers.at<half>(0), buffers.at<half>(1), buffers.at<int>(2), buffers.size(0));
}
CASE(half_functions) { functions<<<1, 64>>>(buffers.at<half>(0), buffers.at<half>(1), buffers.size(0)); }
CASE(half_whole_parts) { whole_parts<<<1, 64>>>(buffers.at<half>(0), buffers.at<half>(1), buffers.size(0)); }

__global__ void from_float(const float* in, __half* out, int n) {
  int i = threadIdx.x;
  out[i] = __float2half(in[i]);
  out[n + i] = __float2half_rn(in[i]);
  out[2 * n + i] = __float2half_rz(in[i]);
  out[3 * n + i] = __float2half_rd(in[i]);
  out[4 * n + i] = __float2half_ru(in[i]);
  out[5 * n + i] = __double2half(double(in[i]));
}
CASE(half_from_float) { from_float<<<1, 64>>>(buffers.at<float>(0), buffers.at<__half>(1), buffers.size(0)); }

__global__ void integers(const __half* in, int* out, int n) {
  int i = threadIdx.x;
  __half x = in[i];
  out[i] = __half2int_rn(x);
  out[n + i] = __half2int_rz(x);
  out[2 * n + i] = __half2int_rd(x);
  out[3 * n + i] = int(__half2uint_ru(x));
  out[4 * n + i] = __half2short_rn(x);
  out[5 * n + i] = int(__half2ll_rz(x));
  out[6 * n + i] = __half_as_ushort(__int2half_rn(i * 37 + 2000));
  out[7 * n + i] = __half_as_ushort(__int2half_rz(i * 37 + 2000));
  out[8 * n + i] = __half_as_ushort(__ll2half_ru(i * 37 + 2000));
  out[9 * n + i] = __half_as_ushort(__ushort_as_half((unsigned short)i));
}
CASE(half_integers) { integers<<<1, 64>>>(buffers.at<__half>(0), buffers.at<int>(1), buffers.size(0)); }

__global__ void made(const float2* in, __half2* out, float2* back, int n) {
  int i = threadIdx.x;
  __half2 pair = __float22half2_rn(in[i]);
  out[i] = pair;
  out[n + i] = __floats2half2_rn(in[i].y, in[i].x);
  out[2 * n + i] = __halves2half2(__high2half(pair), __low2half(pair));
  out[3 * n + i] = __half2half2(__low2half(pair));
  out[4 * n + i] = __lows2half2(pair, __float2half2_rn(1.5f));
  out[5 * n + i] = __high2half2(pair);
  out[6 * n + i] = make_half2(pair.x, __half(pair.y));
  back[i] = __half22float2(pair);
  back[n + i] = make_float2(__low2float(pair), __high2float(pair));
}
CASE(half2_conversions) {
  made<<<1, 32>>>(buffers.at<float2>(0), buffers.at<__half2>(1), buffers.at<float2>(2), buffers.size(0) / 2);
}

__global__ void dot_product(const float4* a, const float4* b, float* out) {
  float4 x = a[threadIdx.x], y = b[threadIdx.x];
  const half2* left = reinterpret_cast<const half2*>(&x);
  const half2* right = reinterpret_cast<const half2*>(&y);
  float sum = 0.0f;
#pragma unroll
  for (int i = 0; i < 4; i++) {
    float2 l = __half22float2(left[i]), r = __half22float2(right[i]);
    sum = __fmaf_rn(l.x, r.x, sum);
    sum = __fmaf_rn(l.y, r.y, sum);
  }
  out[threadIdx.x] = sum;
}
CASE(half_vector_loads) {
  dot_product<<<1, 32>>>(buffers.at<float4>(0), buffers.at<float4>(1), buffers.at<float>(2));
}
