// CUDA's math functions that the C library lacks. The fast ones are as exact as the others here.
#pragma once
#include <cmath>

// glibc declares these names itself, with other linkage.
#define __expf sim_fast_expf
#define __exp10f sim_fast_exp10f
#define __logf sim_fast_logf
#define __log2f sim_fast_log2f
#define __log10f sim_fast_log10f
#define __sinf sim_fast_sinf
#define __cosf sim_fast_cosf
#define __tanf sim_fast_tanf
#define __tanhf sim_fast_tanhf
#define __powf sim_fast_powf
#define __sincosf sim_fast_sincosf
static inline float __expf(float x) { return expf(x); }
static inline float __exp10f(float x) { return powf(10.0f, x); }
static inline float __logf(float x) { return logf(x); }
static inline float __log2f(float x) { return log2f(x); }
static inline float __log10f(float x) { return log10f(x); }
static inline float __sinf(float x) { return sinf(x); }
static inline float __cosf(float x) { return cosf(x); }
static inline float __tanf(float x) { return tanf(x); }
static inline float __tanhf(float x) { return tanhf(x); }
static inline float __powf(float x, float y) { return powf(x, y); }
static inline void __sincosf(float x, float* sine, float* cosine) {
  *sine = sinf(x);
  *cosine = cosf(x);
}

static inline float rsqrtf(float x) { return 1.0f / sqrtf(x); }
static inline double rsqrt(double x) { return 1.0 / sqrt(x); }
static inline float rsqrt(float x) { return rsqrtf(x); }
static inline float rcbrtf(float x) { return 1.0f / cbrtf(x); }
static inline float sinpif(float x) { return sinf(3.14159265358979f * x); }
static inline float cospif(float x) { return cosf(3.14159265358979f * x); }
static inline float normcdff(float x) { return 0.5f * erfcf(-x * 0.70710678118654752f); }
static inline double normcdf(double x) { return 0.5 * erfc(-x * 0.70710678118654752); }
static inline float norm3df(float a, float b, float c) { return sqrtf(a * a + b * b + c * c); }
static inline float fdividef(float a, float b) { return a / b; }
static inline float __fdividef(float a, float b) { return a / b; }
static inline float __saturatef(float x) { return x >= 1.0f ? 1.0f : x > 0.0f ? x : 0.0f; }

static inline float __fadd_rn(float a, float b) { return a + b; }
static inline float __fsub_rn(float a, float b) { return a - b; }
static inline float __fmul_rn(float a, float b) { return a * b; }
static inline float __fdiv_rn(float a, float b) { return a / b; }
static inline float __frcp_rn(float x) { return 1.0f / x; }
static inline float __fsqrt_rn(float x) { return sqrtf(x); }
static inline float __frsqrt_rn(float x) { return 1.0f / sqrtf(x); }
static inline float __fmaf_rn(float a, float b, float c) { return fmaf(a, b, c); }
static inline double __fma_rn(double a, double b, double c) { return fma(a, b, c); }
static inline double __dadd_rn(double a, double b) { return a + b; }
static inline double __dmul_rn(double a, double b) { return a * b; }

#define SIM_MIN_MAX(Result, A, B)                                                             \
  static inline Result max(A a, B b) { return (Result)a > (Result)b ? (Result)a : (Result)b; } \
  static inline Result min(A a, B b) { return (Result)a < (Result)b ? (Result)a : (Result)b; }
#define SIM_MIN_MAX_BOTH(Result, A, B) SIM_MIN_MAX(Result, A, B) SIM_MIN_MAX(Result, B, A)
SIM_MIN_MAX(int, int, int)
SIM_MIN_MAX(unsigned, unsigned, unsigned)
SIM_MIN_MAX(long, long, long)
SIM_MIN_MAX(unsigned long, unsigned long, unsigned long)
SIM_MIN_MAX(long long, long long, long long)
SIM_MIN_MAX(unsigned long long, unsigned long long, unsigned long long)
SIM_MIN_MAX_BOTH(unsigned, int, unsigned)
SIM_MIN_MAX_BOTH(unsigned long, long, unsigned long)
SIM_MIN_MAX_BOTH(unsigned long long, long long, unsigned long long)
SIM_MIN_MAX_BOTH(long, int, long)
SIM_MIN_MAX_BOTH(long long, int, long long)
SIM_MIN_MAX_BOTH(unsigned long, unsigned, unsigned long)
#undef SIM_MIN_MAX
#undef SIM_MIN_MAX_BOTH

static inline unsigned umax(unsigned a, unsigned b) { return max(a, b); }
static inline unsigned umin(unsigned a, unsigned b) { return min(a, b); }
static inline long long llmax(long long a, long long b) { return max(a, b); }
static inline long long llmin(long long a, long long b) { return min(a, b); }
static inline unsigned long long ullmax(unsigned long long a, unsigned long long b) { return max(a, b); }
static inline unsigned long long ullmin(unsigned long long a, unsigned long long b) { return min(a, b); }

static inline float max(float a, float b) { return fmaxf(a, b); }
static inline float min(float a, float b) { return fminf(a, b); }
static inline double max(double a, double b) { return fmax(a, b); }
static inline double min(double a, double b) { return fmin(a, b); }
static inline double max(float a, double b) { return fmax(a, b); }
static inline double max(double a, float b) { return fmax(a, b); }
static inline double min(float a, double b) { return fmin(a, b); }
static inline double min(double a, float b) { return fmin(a, b); }
