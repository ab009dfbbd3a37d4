// CUDA's math functions that the C library lacks. The fast ones are as exact as the others here.
#pragma once
#include <cmath>

#include "sim/rounding.h"

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

static inline double rsqrt(double x) { return 1.0 / sqrt(x); }
static inline float rsqrtf(float x) { return float(1.0 / sqrt(double(x))); }
static inline float rsqrt(float x) { return rsqrtf(x); }
static inline double rcbrt(double x) { return 1.0 / cbrt(x); }
static inline float rcbrtf(float x) { return float(rcbrt(double(x))); }

namespace sim {

// x without whole turns, exactly: sin(pi x) and cos(pi x) have the period 2.
static inline double half_turns(double x) { return remainder(x, 2.0); }
constexpr double pi = 3.14159265358979323846;

// By Newton's method from a rational start (A. J. Strecok's form of Giles' approximation is good to 1e-3).
static inline double inverse_erf(double y) {
  if (!(fabs(y) < 1.0)) return y == 1.0 || y == -1.0 ? y * HUGE_VAL : NAN;
  double w = log((1.0 - y) * (1.0 + y)), t = 2.0 / (pi * 0.147) + w / 2.0;
  double x = copysign(sqrt(sqrt(t * t - w / 0.147) - t), y);
  for (int i = 0; i < 4; i++) x -= (erf(x) - y) / (2.0 / sqrt(pi) * exp(-x * x));
  return x;
}
static inline double inverse_erfc(double y) {
  if (y >= 0.1) return inverse_erf(1.0 - y);
  if (!(y > 0.0)) return y == 0.0 ? HUGE_VAL : NAN;
  double x = sqrt(-log(y * sqrt(pi) * sqrt(-log(y))));
  for (int i = 0; i < 6; i++) x += (log(erfc(x)) - log(y)) / (2.0 / sqrt(pi) * exp(-x * x) / erfc(x));
  return x;
}
// exp(x^2) erfc(x): directly while that holds, then by its continued fraction.
static inline double scaled_erfc(double x) {
  if (x < 5.0) return exp(x * x) * erfc(x);
  double fraction = 0.0;
  for (int i = 60; i > 0; i--) fraction = i / 2.0 / (x + fraction);
  return 1.0 / (sqrt(pi) * (x + fraction));
}
template <class T>
static inline double sum_of_squares(int dimension, const T* p) {
  double sum = 0;
  for (int i = 0; i < dimension; i++) sum += double(p[i]) * p[i];
  return sum;
}

}  // namespace sim

// A double function, its float twin and CUDA's overload for float.
#define SIM_MATH(name, expression)                                                \
  static inline double name(double x) { return expression; }                      \
  static inline float name##f(float x) { return float(name(double(x))); }         \
  static inline float name(float x) { return name##f(x); }
SIM_MATH(sinpi, sin(sim::pi * sim::half_turns(x)))
SIM_MATH(cospi, cos(sim::pi * sim::half_turns(x)))
SIM_MATH(erfinv, sim::inverse_erf(x))
SIM_MATH(erfcinv, sim::inverse_erfc(x))
SIM_MATH(erfcx, sim::scaled_erfc(x))
SIM_MATH(normcdf, 0.5 * erfc(-x * 0.70710678118654752440))
SIM_MATH(normcdfinv, -1.41421356237309504880 * sim::inverse_erfc(2.0 * x))
#undef SIM_MATH
#define SIM_MATH_MANY(name, parameters, float_parameters, arguments, expression)          \
  static inline double name parameters { return expression; }                            \
  static inline float name##f float_parameters { return float(name arguments); }
SIM_MATH_MANY(rhypot, (double a, double b), (float a, float b), (a, b), 1.0 / hypot(a, b))
SIM_MATH_MANY(norm3d, (double a, double b, double c), (float a, float b, float c), (a, b, c), hypot(hypot(a, b), c))
SIM_MATH_MANY(rnorm3d, (double a, double b, double c), (float a, float b, float c), (a, b, c), 1.0 / norm3d(a, b, c))
SIM_MATH_MANY(norm4d, (double a, double b, double c, double d), (float a, float b, float c, float d), (a, b, c, d),
              hypot(norm3d(a, b, c), d))
SIM_MATH_MANY(rnorm4d, (double a, double b, double c, double d), (float a, float b, float c, float d), (a, b, c, d),
              1.0 / norm4d(a, b, c, d))
#undef SIM_MATH_MANY
static inline float normf(int dimension, const float* p) { return float(sqrt(sim::sum_of_squares(dimension, p))); }
static inline double norm(int dimension, const double* p) { return sqrt(sim::sum_of_squares(dimension, p)); }
static inline float rnormf(int dimension, const float* p) {
  return float(1.0 / sqrt(sim::sum_of_squares(dimension, p)));
}
static inline double rnorm(int dimension, const double* p) { return 1.0 / sqrt(sim::sum_of_squares(dimension, p)); }
static inline void sincospif(float x, float* sine, float* cosine) {
  *sine = sinpif(x);
  *cosine = cospif(x);
}
static inline void sincospi(double x, double* sine, double* cosine) {
  *sine = sinpi(x);
  *cosine = cospi(x);
}
static inline float fdividef(float a, float b) { return a / b; }
static inline float __fdividef(float a, float b) { return a / b; }
static inline float __saturatef(float x) { return sim::saturated(x); }

// The compiler never fuses these with a neighbour, here as there.
#define SIM_ROUNDED(mode, rounding)                                                                                \
  static inline float __fadd_##mode(float a, float b) {                                                            \
    return sim::rounded<rounding, float>([](float x, float y) { return x + y; }, a, b);                            \
  }                                                                                                                \
  static inline float __fsub_##mode(float a, float b) {                                                            \
    return sim::rounded<rounding, float>([](float x, float y) { return x - y; }, a, b);                            \
  }                                                                                                                \
  static inline float __fmul_##mode(float a, float b) {                                                            \
    return sim::rounded<rounding, float>([](float x, float y) { return x * y; }, a, b);                            \
  }                                                                                                                \
  static inline float __fdiv_##mode(float a, float b) {                                                            \
    return sim::rounded<rounding, float>([](float x, float y) { return x / y; }, a, b);                            \
  }                                                                                                                \
  static inline float __fmaf_##mode(float a, float b, float c) {                                                   \
    return sim::rounded<rounding, float>([](float x, float y, float z) { return fmaf(x, y, z); }, a, b, c);        \
  }                                                                                                                \
  static inline float __frcp_##mode(float a) {                                                                     \
    return sim::rounded<rounding, float>([](float x) { return 1.0f / x; }, a);                                     \
  }                                                                                                                \
  static inline float __fsqrt_##mode(float a) {                                                                    \
    return sim::rounded<rounding, float>([](float x) { return sqrtf(x); }, a);                                     \
  }                                                                                                                \
  static inline double __dadd_##mode(double a, double b) {                                                         \
    return sim::rounded<rounding, double>([](double x, double y) { return x + y; }, a, b);                         \
  }                                                                                                                \
  static inline double __dsub_##mode(double a, double b) {                                                         \
    return sim::rounded<rounding, double>([](double x, double y) { return x - y; }, a, b);                         \
  }                                                                                                                \
  static inline double __dmul_##mode(double a, double b) {                                                         \
    return sim::rounded<rounding, double>([](double x, double y) { return x * y; }, a, b);                         \
  }                                                                                                                \
  static inline double __ddiv_##mode(double a, double b) {                                                         \
    return sim::rounded<rounding, double>([](double x, double y) { return x / y; }, a, b);                         \
  }                                                                                                                \
  static inline double __fma_##mode(double a, double b, double c) {                                                \
    return sim::rounded<rounding, double>([](double x, double y, double z) { return fma(x, y, z); }, a, b, c);     \
  }                                                                                                                \
  static inline double __drcp_##mode(double a) {                                                                   \
    return sim::rounded<rounding, double>([](double x) { return 1.0 / x; }, a);                                    \
  }                                                                                                                \
  static inline double __dsqrt_##mode(double a) {                                                                  \
    return sim::rounded<rounding, double>([](double x) { return sqrt(x); }, a);                                    \
  }
SIM_EACH_ROUNDING(SIM_ROUNDED)
#undef SIM_ROUNDED
static inline float __frsqrt_rn(float x) { return rsqrtf(x); }

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
