// CUDA's words that mean nothing, or something simple, on a CPU.
#pragma once

#define __host__
#define __device__
#define __global__
#define __constant__
#define __managed__
#define __grid_constant__
// Empty, not an attribute: GCC's own headers write __attribute__((__noinline__)).
#define __noinline__
#define __inline_hint__
#define __nv_pure__
#define __builtin_assume(condition) ((void)0)
#define __assume(condition) ((void)0)
#define __forceinline__ __inline__ __attribute__((always_inline))
#define __launch_bounds__(...)
#define __cluster_dims__(...)
#define __maxnreg__(...)
#define __align__(n) __attribute__((aligned(n)))
#define __builtin_align__(n) __align__(n)

#define CUDART_VERSION 13000
#define CUDA_VERSION 13000
#define __CUDACC_EXTENDED_LAMBDA__ 1

#define CUDART_INF_F __builtin_inff()
#define CUDART_INF __builtin_inf()
#define CUDART_NAN_F __builtin_nanf("")
#define CUDART_NAN __builtin_nan("")
#define CUDART_PI_F 3.141592654f
#define CUDART_PI 3.1415926535897931e+0
#define CUDART_MAX_NORMAL_F 3.402823466e+38f
#define CUDART_MIN_DENORM_F 1.401298464e-45f
#define CUDART_ZERO_F 0.0f
#define CUDART_ONE_F 1.0f
#define CUDART_LN2_F 0.693147181f
#define CUDART_L2E_F 1.442695041f
#define CUDART_SQRT_TWO_F 1.414213562f
#define CUDART_SQRT_HALF_F 0.707106781f
#define CUDART_PIO2_F 1.570796327f

static constexpr int warpSize = 32;
