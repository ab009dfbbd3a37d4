// __nv_bfloat16, like cuda_fp16.h.
#pragma once
#include <cuda_runtime.h>
#include <c10/util/BFloat16.h>

#define SIM_HALF __nv_bfloat16
#define SIM_HALF2 __nv_bfloat162
#define SIM_HALF_TORCH c10::BFloat16
#define SIM_HALF_LOW2 __low2bfloat16
#define SIM_HALF_HIGH2 __high2bfloat16
#define SIM_HALF_TO_FLOAT __bfloat162float
#if defined(__CUDA_NO_BFLOAT16_CONVERSIONS__)
#define SIM_HALF_CONVERTS 0
#else
#define SIM_HALF_CONVERTS 1
#endif
#if defined(__CUDA_NO_BFLOAT16_OPERATORS__)
#define SIM_HALF_OPERATES 0
#else
#define SIM_HALF_OPERATES 1
#endif
#include "sim/half_base.h"

typedef __nv_bfloat16 nv_bfloat16;
typedef __nv_bfloat162 nv_bfloat162;

static inline __nv_bfloat16 __float2bfloat16(float x) { return __nv_bfloat16::of(x); }
static inline __nv_bfloat16 __float2bfloat16_rn(float x) { return __nv_bfloat16::of(x); }
static inline __nv_bfloat162 make_bfloat162(__nv_bfloat16 low, __nv_bfloat16 high) { return {low, high}; }
static inline __nv_bfloat162 __halves2bfloat162(__nv_bfloat16 low, __nv_bfloat16 high) { return {low, high}; }
static inline __nv_bfloat162 __bfloat162bfloat162(__nv_bfloat16 both) { return {both, both}; }
static inline __nv_bfloat162 __float2bfloat162_rn(float both) {
  return {__nv_bfloat16::of(both), __nv_bfloat16::of(both)};
}
static inline __nv_bfloat162 __floats2bfloat162_rn(float low, float high) {
  return {__nv_bfloat16::of(low), __nv_bfloat16::of(high)};
}
static inline float2 __bfloat1622float2(__nv_bfloat162 x) { return float2{x.x.as_float(), x.y.as_float()}; }
