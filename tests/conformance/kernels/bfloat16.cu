// __nv_bfloat16 and __nv_bfloat162.
#include <cuda_bf16.h>

#include "sixteen_bit.h"

typedef __nv_bfloat16 bf16;
typedef __nv_bfloat162 bf162;

CASE(bfloat16_arithmetic) {
  arithmetic<<<1, 64>>>(buffers.at<bf16>(0), buffers.at<bf16>(1), buffers.at<bf16>(2), buffers.at<bf16>(3),
                        buffers.size(0));
}
CASE(bfloat162_arithmetic) {
  pairs<bf16, bf162><<<1, 32>>>(buffers.at<bf162>(0), buffers.at<bf162>(1), buffers.at<bf162>(2), buffers.at<bf162>(3),
                                buffers.size(0) / 2);
}
CASE(bfloat16_comparisons) {
  comparisons<bf16, bf162><<<1, 64>>>(buffers.at<bf16>(0), buffers.at<bf16>(1), buffers.at<int>(2), buffers.size(0));
}
CASE(bfloat16_functions) { functions<<<1, 64>>>(buffers.at<bf16>(0), buffers.at<bf16>(1), buffers.size(0)); }
CASE(bfloat16_whole_parts) { whole_parts<<<1, 64>>>(buffers.at<bf16>(0), buffers.at<bf16>(1), buffers.size(0)); }

__global__ void from_float(const float* in, bf16* out, int n) {
  int i = threadIdx.x;
  out[i] = __float2bfloat16(in[i]);
  out[n + i] = __float2bfloat16_rn(in[i]);
  out[2 * n + i] = __float2bfloat16_rz(in[i]);
  out[3 * n + i] = __float2bfloat16_rd(in[i]);
  out[4 * n + i] = __float2bfloat16_ru(in[i]);
  out[5 * n + i] = __double2bfloat16(double(in[i]));
}
CASE(bfloat16_from_float) { from_float<<<1, 64>>>(buffers.at<float>(0), buffers.at<bf16>(1), buffers.size(0)); }

// torch's flags leave bfloat16 its operators.
__global__ void operators(const bf16* a, const bf16* b, bf16* out, int n) {
  int i = threadIdx.x;
  bf16 x = a[i], y = b[i], sum = x + y;
  out[i] = sum;
  out[n + i] = x * y;
  out[2 * n + i] = -x;
  out[3 * n + i] = x > y ? x : y;
  bf16 kept = x;
  kept -= y;
  out[4 * n + i] = kept;
}
CASE(bfloat16_operators) {
  operators<<<1, 64>>>(buffers.at<bf16>(0), buffers.at<bf16>(1), buffers.at<bf16>(2), buffers.size(0));
}

__global__ void made(const float2* in, bf162* out, float2* back, int n) {
  int i = threadIdx.x;
  bf162 pair = __float22bfloat162_rn(in[i]);
  out[i] = pair;
  out[n + i] = __floats2bfloat162_rn(in[i].y, in[i].x);
  out[2 * n + i] = __halves2bfloat162(__high2bfloat16(pair), __low2bfloat16(pair));
  out[3 * n + i] = __bfloat162bfloat162(__low2bfloat16(pair));
  back[i] = __bfloat1622float2(pair);
  back[n + i] = make_float2(__bfloat162float(pair.x), __bfloat162float(pair.y));
}
CASE(bfloat162_conversions) {
  made<<<1, 32>>>(buffers.at<float2>(0), buffers.at<bf162>(1), buffers.at<float2>(2), buffers.size(0) / 2);
}
