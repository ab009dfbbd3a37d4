// __half. torch builds extensions with __CUDA_NO_HALF_OPERATORS__ and its kin; what nvcc refuses is refused here.
#pragma once
#include <c10/util/Half.h>
#include <cuda_runtime.h>
#include <immintrin.h>

#define SIM_N half
#define SIM_HALF __half
#define SIM_HALF2 __half2
#define SIM_RAW __half_raw
#define SIM_RAW2 __half2_raw
#define SIM_TORCH c10::Half
#define SIM_EXPLICIT
#define SIM_EXPONENT_BITS 5
#define SIM_FRACTION_BITS 10
#if defined(__CUDA_NO_HALF_CONVERSIONS__)
#define SIM_CONVERTS 0
#else
#define SIM_CONVERTS 1
#endif
#if defined(__CUDA_NO_HALF_OPERATORS__)
#define SIM_OPERATES 0
#else
#define SIM_OPERATES 1
#endif
#if defined(__CUDA_NO_HALF2_OPERATORS__)
#define SIM_OPERATES2 0
#else
#define SIM_OPERATES2 1
#endif
#include "sim/half_base.h"

typedef __half half;
typedef __half2 half2;
typedef __half nv_half;
typedef __half2 nv_half2;

#define CUDART_INF_FP16 __ushort_as_half((unsigned short)0x7C00U)
#define CUDART_NAN_FP16 __ushort_as_half((unsigned short)0x7FFFU)
#define CUDART_MIN_DENORM_FP16 __ushort_as_half((unsigned short)0x0001U)
#define CUDART_MAX_NORMAL_FP16 __ushort_as_half((unsigned short)0x7BFFU)
#define CUDART_NEG_ZERO_FP16 __ushort_as_half((unsigned short)0x8000U)
#define CUDART_ZERO_FP16 __ushort_as_half((unsigned short)0x0000U)
#define CUDART_ONE_FP16 __ushort_as_half((unsigned short)0x3C00U)
