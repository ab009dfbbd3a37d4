// Reinterpretation, and conversion between integers and floats with a named rounding mode.
#pragma once
#include "sim/rounding.h"

static inline int __float_as_int(float x) { return sim::bits_as<int>(x); }
static inline unsigned __float_as_uint(float x) { return sim::bits_as<unsigned>(x); }
static inline float __int_as_float(int x) { return sim::bits_as<float>(x); }
static inline float __uint_as_float(unsigned x) { return sim::bits_as<float>(x); }
static inline long long __double_as_longlong(double x) { return sim::bits_as<long long>(x); }
static inline double __longlong_as_double(long long x) { return sim::bits_as<double>(x); }
static inline int __double2loint(double x) { return int(sim::bits_as<long long>(x)); }
static inline int __double2hiint(double x) { return int(sim::bits_as<long long>(x) >> 32); }
static inline double __hiloint2double(int high, int low) {
  return sim::bits_as<double>((long long)high << 32 | (unsigned)low);
}

namespace sim {

// The compiler converts in the mode that the thread is in.
template <Rounding rounding, class To, class From>
static inline To converted(From from) {
  return rounded<rounding, To>([](auto x) { return To(x); }, from);
}
// Integers do not go through vector registers, where `opaque` keeps values.
template <Rounding rounding, class To, class From>
static inline To converted_integer(From from) {
  if (rounding == Rounding::nearest) return To(from);
  long double exact = from;
  To nearest = To(from);
  bool is_below = (long double)nearest < exact, is_above = (long double)nearest > exact;
  bool goes_up = is_below && (rounding == Rounding::up || (rounding == Rounding::zero && exact < 0));
  bool goes_down = is_above && (rounding == Rounding::down || (rounding == Rounding::zero && exact > 0));
  constexpr To infinity = std::numeric_limits<To>::infinity();
  return goes_up ? std::nextafter(nearest, infinity) : goes_down ? std::nextafter(nearest, -infinity) : nearest;
}

}  // namespace sim

#define SIM_FLOAT_CONVERSIONS(mode, rounding)                                                                    \
  static inline int __float2int_##mode(float x) { return sim::to_integer<int, rounding>(x); }                    \
  static inline unsigned __float2uint_##mode(float x) { return sim::to_integer<unsigned, rounding>(x); }         \
  static inline long long __float2ll_##mode(float x) { return sim::to_integer<long long, rounding>(x); }         \
  static inline unsigned long long __float2ull_##mode(float x) {                                                 \
    return sim::to_integer<unsigned long long, rounding>(x);                                                     \
  }                                                                                                              \
  static inline int __double2int_##mode(double x) { return sim::to_integer<int, rounding>(x); }                  \
  static inline unsigned __double2uint_##mode(double x) { return sim::to_integer<unsigned, rounding>(x); }       \
  static inline long long __double2ll_##mode(double x) { return sim::to_integer<long long, rounding>(x); }       \
  static inline unsigned long long __double2ull_##mode(double x) {                                               \
    return sim::to_integer<unsigned long long, rounding>(x);                                                     \
  }                                                                                                              \
  static inline float __double2float_##mode(double x) { return sim::converted<rounding, float>(x); }             \
  static inline float __int2float_##mode(int x) { return sim::converted_integer<rounding, float>(x); }           \
  static inline float __uint2float_##mode(unsigned x) { return sim::converted_integer<rounding, float>(x); }     \
  static inline float __ll2float_##mode(long long x) { return sim::converted_integer<rounding, float>(x); }      \
  static inline float __ull2float_##mode(unsigned long long x) {                                                 \
    return sim::converted_integer<rounding, float>(x);                                                           \
  }                                                                                                              \
  static inline double __ll2double_##mode(long long x) { return sim::converted_integer<rounding, double>(x); }   \
  static inline double __ull2double_##mode(unsigned long long x) {                                               \
    return sim::converted_integer<rounding, double>(x);                                                          \
  }
SIM_EACH_ROUNDING(SIM_FLOAT_CONVERSIONS)
#undef SIM_FLOAT_CONVERSIONS

static inline double __int2double_rn(int x) { return x; }
static inline double __uint2double_rn(unsigned x) { return x; }
