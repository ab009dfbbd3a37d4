// Arithmetic on float and double: mathematical functions, rounding modes, conversions.
#include "case.h"

#include <math_constants.h>

__global__ void single_functions(const float* in, float* out, int n) {
  int i = threadIdx.x;
  if (i >= n) return;
  float x = in[i];
  int row = 0;
  out[n * row++ + i] = expf(x);
  out[n * row++ + i] = logf(x);
  out[n * row++ + i] = log1pf(x);
  out[n * row++ + i] = exp2f(x);
  out[n * row++ + i] = sinf(x);
  out[n * row++ + i] = cosf(x);
  out[n * row++ + i] = tanhf(x);
  out[n * row++ + i] = erff(x);
  out[n * row++ + i] = erfcf(x);
  out[n * row++ + i] = powf(x, 1.7f);
  out[n * row++ + i] = rsqrtf(x);
  out[n * row++ + i] = cbrtf(x);
  out[n * row++ + i] = sqrtf(x);
  out[n * row++ + i] = normcdff(x);
  out[n * row++ + i] = sinpif(x);
  out[n * row++ + i] = cospif(x);
  out[n * row++ + i] = exp10f(x);
  out[n * row++ + i] = atan2f(x, 2.0f);
  out[n * row++ + i] = hypotf(x, 3.0f);
  out[n * row++ + i] = lgammaf(x);
  out[n * row++ + i] = expm1f(x);
  out[n * row++ + i] = asinhf(x);
}

CASE(math_functions) { single_functions<<<1, 64>>>(buffers.at<float>(0), buffers.at<float>(1), buffers.size(0)); }

__global__ void inverse_functions(const float* in, float* out, int n) {
  int i = threadIdx.x;
  if (i >= n) return;
  float x = in[i];
  out[i] = erfinvf(x);
  out[n + i] = normcdfinvf(x * 0.5f + 0.5f);
  out[2 * n + i] = erfcinvf(1.0f + x);
  out[3 * n + i] = erfcxf(x);
}

CASE(inverse_functions) { inverse_functions<<<1, 64>>>(buffers.at<float>(0), buffers.at<float>(1), buffers.size(0)); }

__global__ void double_functions(const double* in, double* out, int n) {
  int i = threadIdx.x;
  if (i >= n) return;
  double x = in[i];
  int row = 0;
  out[n * row++ + i] = exp(x);
  out[n * row++ + i] = log(x);
  out[n * row++ + i] = pow(x, 1.7);
  out[n * row++ + i] = rsqrt(x);
  out[n * row++ + i] = erf(x);
  out[n * row++ + i] = normcdf(x);
  out[n * row++ + i] = tanh(x);
  out[n * row++ + i] = sin(x);
  out[n * row++ + i] = fmod(x, 0.7);
}

CASE(double_functions) { double_functions<<<1, 64>>>(buffers.at<double>(0), buffers.at<double>(1), buffers.size(0)); }

__global__ void fast_functions(const float* in, float* out, int n) {
  int i = threadIdx.x;
  if (i >= n) return;
  float x = in[i], sine, cosine;
  __sincosf(x, &sine, &cosine);
  int row = 0;
  out[n * row++ + i] = __expf(x);
  out[n * row++ + i] = __logf(x);
  out[n * row++ + i] = __log2f(x);
  out[n * row++ + i] = __log10f(x);
  out[n * row++ + i] = __sinf(x);
  out[n * row++ + i] = __cosf(x);
  out[n * row++ + i] = __powf(x, 1.7f);
  out[n * row++ + i] = __fdividef(x, 3.0f);
  out[n * row++ + i] = __tanf(x);
  out[n * row++ + i] = __exp10f(x);
  out[n * row++ + i] = sine;
  out[n * row++ + i] = cosine;
}

CASE(fast_functions) { fast_functions<<<1, 64>>>(buffers.at<float>(0), buffers.at<float>(1), buffers.size(0)); }

__global__ void special_values(const float* a, const float* b, float* out, int n) {
  int i = threadIdx.x;
  if (i >= n) return;
  float x = a[i], y = b[i];
  int row = 0;
  out[n * row++ + i] = fmaxf(x, y);
  out[n * row++ + i] = fminf(x, y);
  out[n * row++ + i] = max(x, y);
  out[n * row++ + i] = min(x, y);
  out[n * row++ + i] = __saturatef(x) + 0.0f;
  out[n * row++ + i] = fabsf(x);
  out[n * row++ + i] = copysignf(2.0f, y);
  out[n * row++ + i] = isnan(x) + 2 * isinf(x) + 4 * (x == CUDART_INF_F);
  out[n * row++ + i] = rintf(x);
  out[n * row++ + i] = truncf(x);
  out[n * row++ + i] = floorf(x) + ceilf(x);
  out[n * row++ + i] = x != x ? CUDART_INF_F : fdimf(x, 1.0f);
}

CASE(special_values) {
  special_values<<<1, 64>>>(buffers.at<float>(0), buffers.at<float>(1), buffers.at<float>(2), buffers.size(0));
}

#define BINARY_ROWS(name)                                             \
  out[n * row++ + i] = name##_rn(x, y);                               \
  out[n * row++ + i] = name##_rz(x, y);                               \
  out[n * row++ + i] = name##_rd(x, y);                               \
  out[n * row++ + i] = name##_ru(x, y);

__global__ void rounded_arithmetic(const float* a, const float* b, float* out, int n) {
  int i = threadIdx.x;
  if (i >= n) return;
  float x = a[i], y = b[i];
  int row = 0;
  BINARY_ROWS(__fadd)
  BINARY_ROWS(__fsub)
  BINARY_ROWS(__fmul)
  BINARY_ROWS(__fdiv)
  out[n * row++ + i] = __fmaf_rn(x, y, 1.0f);
  out[n * row++ + i] = __fmaf_rz(x, y, 1.0f);
  out[n * row++ + i] = __fmaf_rd(x, y, 1.0f);
  out[n * row++ + i] = __fmaf_ru(x, y, 1.0f);
  out[n * row++ + i] = __fsqrt_rz(y);
  out[n * row++ + i] = __fsqrt_ru(y);
  out[n * row++ + i] = __frcp_rn(x);
  out[n * row++ + i] = __frcp_rd(x);
}

CASE(rounding_modes) {
  rounded_arithmetic<<<1, 64>>>(buffers.at<float>(0), buffers.at<float>(1), buffers.at<float>(2), buffers.size(0));
}

__global__ void never_fused(const float* a, const float* b, const float* c, float* out, int n) {
  int i = threadIdx.x;
  if (i >= n) return;
  out[i] = __fadd_rn(__fmul_rn(a[i], b[i]), c[i]);
  out[n + i] = __fmul_rn(a[i], b[i]) + c[i];
  out[2 * n + i] = __fsub_rn(a[i] * b[i], c[i]);
  out[3 * n + i] = fmaf(a[i], b[i], c[i]);
  out[4 * n + i] = float(__dadd_rn(__dmul_rn(a[i], b[i]), c[i]));
}

CASE(unfused_arithmetic) {
  never_fused<<<1, 64>>>(buffers.at<float>(0), buffers.at<float>(1), buffers.at<float>(2), buffers.at<float>(3),
                         buffers.size(0));
}

__global__ void fused(const float* a, const float* b, const float* c, float* out, int n) {
  int i = threadIdx.x;
  if (i < n) out[i] = a[i] * b[i] + c[i];
}

CASE(contracted_arithmetic) {
  fused<<<1, 64>>>(buffers.at<float>(0), buffers.at<float>(1), buffers.at<float>(2), buffers.at<float>(3),
                   buffers.size(0));
}

__global__ void to_integers(const float* in, int* out, long long* wide, int n) {
  int i = threadIdx.x;
  if (i >= n) return;
  float x = in[i];
  out[i] = __float2int_rn(x);
  out[n + i] = __float2int_rz(x);
  out[2 * n + i] = __float2int_rd(x);
  out[3 * n + i] = __float2int_ru(x);
  out[4 * n + i] = int(__float2uint_rn(x));
  out[5 * n + i] = __double2int_rn(double(x) + 0.5);
  wide[i] = __float2ll_rz(x);
  wide[n + i] = (long long)__float2ull_rn(x);
}

CASE(conversions_to_integers) {
  to_integers<<<1, 64>>>(buffers.at<float>(0), buffers.at<int>(1), buffers.at<long long>(2), buffers.size(0));
}

__global__ void to_floats(const int* in, const long long* wide, float* out, int n) {
  int i = threadIdx.x;
  if (i >= n) return;
  out[i] = __int2float_rn(in[i]);
  out[n + i] = __int2float_rz(in[i]);
  out[2 * n + i] = __int2float_rd(in[i]);
  out[3 * n + i] = __int2float_ru(in[i]);
  out[4 * n + i] = __ll2float_rn(wide[i]);
  out[5 * n + i] = __ll2float_rz(wide[i]);
  out[6 * n + i] = __double2float_ru(1.0 / (in[i] | 1));
  out[7 * n + i] = __int_as_float(__float_as_int(float(i)) + 1);
  out[8 * n + i] = float(__hiloint2double(__double2hiint(i * 0.1), __double2loint(i * 0.1)));
}

CASE(conversions_to_floats) {
  to_floats<<<1, 64>>>(buffers.at<int>(0), buffers.at<long long>(1), buffers.at<float>(2), buffers.size(0));
}
