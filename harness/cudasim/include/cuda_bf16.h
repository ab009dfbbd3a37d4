// __nv_bfloat16, like cuda_fp16.h.
#pragma once
#include <c10/util/BFloat16.h>
#include <cuda_runtime.h>

#define SIM_N bfloat16
#define SIM_HALF __nv_bfloat16
#define SIM_HALF2 __nv_bfloat162
#define SIM_RAW __nv_bfloat16_raw
#define SIM_RAW2 __nv_bfloat162_raw
#define SIM_TORCH c10::BFloat16
#define SIM_EXPLICIT explicit
#define SIM_EXPONENT_BITS 8
#define SIM_FRACTION_BITS 7
#if defined(__CUDA_NO_BFLOAT16_CONVERSIONS__)
#define SIM_CONVERTS 0
#else
#define SIM_CONVERTS 1
#endif
#if defined(__CUDA_NO_BFLOAT16_OPERATORS__)
#define SIM_OPERATES 0
#else
#define SIM_OPERATES 1
#endif
#if defined(__CUDA_NO_BFLOAT162_OPERATORS__)
#define SIM_OPERATES2 0
#else
#define SIM_OPERATES2 1
#endif
#include "sim/half_base.h"

typedef __nv_bfloat16 nv_bfloat16;
typedef __nv_bfloat162 nv_bfloat162;

#define CUDART_INF_BF16 __ushort_as_bfloat16((unsigned short)0x7F80U)
#define CUDART_NAN_BF16 __ushort_as_bfloat16((unsigned short)0x7FFFU)
#define CUDART_ZERO_BF16 __ushort_as_bfloat16((unsigned short)0x0000U)
#define CUDART_ONE_BF16 __ushort_as_bfloat16((unsigned short)0x3F80U)
