// __half. torch builds extensions with __CUDA_NO_HALF_OPERATORS__ and its kin; what nvcc refuses is refused here.
#pragma once
#include <cuda_runtime.h>
#include <c10/util/Half.h>

#define SIM_HALF __half
#define SIM_HALF2 __half2
#define SIM_HALF_TORCH c10::Half
#define SIM_HALF_LOW2 __low2half
#define SIM_HALF_HIGH2 __high2half
#define SIM_HALF_TO_FLOAT __half2float
#if defined(__CUDA_NO_HALF_CONVERSIONS__)
#define SIM_HALF_CONVERTS 0
#else
#define SIM_HALF_CONVERTS 1
#endif
#if defined(__CUDA_NO_HALF_OPERATORS__)
#define SIM_HALF_OPERATES 0
#else
#define SIM_HALF_OPERATES 1
#endif
#include "sim/half_base.h"

typedef __half half;
typedef __half2 half2;

static inline __half __float2half(float x) { return __half::of(x); }
static inline __half __float2half_rn(float x) { return __half::of(x); }
static inline __half __double2half(double x) { return __half::of(float(x)); }
static inline __half __int2half_rn(int x) { return __half::of(float(x)); }
static inline int __half2int_rn(__half x) { return int(nearbyintf(x.as_float())); }
static inline __half __ushort_as_half(unsigned short bits) {
  __half half;
  half.bits = bits;
  return half;
}
static inline unsigned short __half_as_ushort(__half x) { return x.bits; }
static inline __half2 make_half2(__half low, __half high) { return {low, high}; }
static inline __half2 __halves2half2(__half low, __half high) { return {low, high}; }
static inline __half2 __half2half2(__half both) { return {both, both}; }
static inline __half2 __float2half2_rn(float both) { return {__half::of(both), __half::of(both)}; }
static inline __half2 __floats2half2_rn(float low, float high) { return {__half::of(low), __half::of(high)}; }
static inline __half2 __float22half2_rn(float2 x) { return __floats2half2_rn(x.x, x.y); }
static inline float2 __half22float2(__half2 x) { return float2{x.x.as_float(), x.y.as_float()}; }
