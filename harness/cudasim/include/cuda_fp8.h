// The 8-bit floats e4m3 (no infinities, 448 at most) and e5m2 (like __half, 57344 at most), alone, in twos and in fours.
#pragma once
#include <cuda_bf16.h>
#include <cuda_fp16.h>

typedef unsigned char __nv_fp8_storage_t;
typedef unsigned short __nv_fp8x2_storage_t;
typedef unsigned int __nv_fp8x4_storage_t;
enum __nv_saturation_t { __NV_NOSAT, __NV_SATFINITE };
enum __nv_fp8_interpretation_t { __NV_E4M3, __NV_E5M2 };

// ---- One value.

static inline __nv_fp8_storage_t __nv_cvt_double_to_fp8(double value, __nv_saturation_t saturation,
                                                        __nv_fp8_interpretation_t kind) {
  const bool is_e4m3 = kind == __NV_E4M3;
  const double most = is_e4m3 ? 448.0 : 57344.0;
  if (value != value) return 0x7f;
  if (saturation == __NV_SATFINITE) value = value > most ? most : value < -most ? -most : value;
  constexpr auto nearest = sim::Rounding::nearest;
  const __nv_fp8_storage_t sign = __builtin_signbit(value) ? 0x80 : 0;
  const double size = __builtin_fabs(value);
  if (!is_e4m3) return sign | sim::narrowed<5, 2>(size, nearest);
  if (size < 256.0 - 8.0) return sign | sim::narrowed<4, 3>(size, nearest);
  // Where e4m3 has values, an IEEE format of as many bits has infinity: these are twice others.
  return sign | (size >= 480.0 ? 0x7f : sim::narrowed<4, 3>(size / 2, nearest) + 8);
}
static inline __nv_fp8_storage_t __nv_cvt_float_to_fp8(float value, __nv_saturation_t saturation,
                                                       __nv_fp8_interpretation_t kind) {
  return __nv_cvt_double_to_fp8(value, saturation, kind);
}
static inline __nv_fp8_storage_t __nv_cvt_halfraw_to_fp8(__half_raw value, __nv_saturation_t saturation,
                                                         __nv_fp8_interpretation_t kind) {
  return __nv_cvt_double_to_fp8(__half(value).as_float(), saturation, kind);
}
static inline __nv_fp8_storage_t __nv_cvt_bfloat16raw_to_fp8(__nv_bfloat16_raw value, __nv_saturation_t saturation,
                                                             __nv_fp8_interpretation_t kind) {
  return __nv_cvt_double_to_fp8(__nv_bfloat16(value).as_float(), saturation, kind);
}
static inline __half_raw __nv_cvt_fp8_to_halfraw(__nv_fp8_storage_t bits, __nv_fp8_interpretation_t kind) {
  if (kind == __NV_E5M2) return __half_raw{(unsigned short)(bits << 8)};
  const int exponent = bits >> 3 & 15, fraction = bits & 7;
  float size = exponent ? (8 + fraction) * __builtin_ldexpf(1.0f, exponent - 10) : fraction * 0x1p-9f;
  if ((bits & 0x7f) == 0x7f) size = __builtin_nanf("");
  return __half::of(bits & 0x80 ? -size : size);
}

// ---- Two and four: the first lies in the lowest bits.

#define SIM_TO_FP8X2(name, type)                                                                                     \
  static inline __nv_fp8x2_storage_t __nv_cvt_##name##2_to_fp8x2(type value, __nv_saturation_t saturation,           \
                                                                 __nv_fp8_interpretation_t kind) {                   \
    return __nv_cvt_double_to_fp8(sim::part_of(value.x), saturation, kind) |                                         \
           __nv_cvt_double_to_fp8(sim::part_of(value.y), saturation, kind) << 8;                                     \
  }
namespace sim {
inline double part_of(double value) { return value; }
inline double part_of(__half value) { return value.as_float(); }
inline double part_of(__nv_bfloat16 value) { return value.as_float(); }
}  // namespace sim
SIM_TO_FP8X2(float, float2)
SIM_TO_FP8X2(double, double2)
SIM_TO_FP8X2(halfraw, __half2)
SIM_TO_FP8X2(bfloat16raw, __nv_bfloat162)
#undef SIM_TO_FP8X2
static inline __half2_raw __nv_cvt_fp8x2_to_halfraw2(__nv_fp8x2_storage_t bits, __nv_fp8_interpretation_t kind) {
  return {__nv_cvt_fp8_to_halfraw(bits & 0xff, kind).x, __nv_cvt_fp8_to_halfraw(bits >> 8, kind).x};
}

#define SIM_FP8(name, kind)                                                                                          \
  struct __nv_fp8_##name {                                                                                           \
    __nv_fp8_storage_t __x;                                                                                          \
    __nv_fp8_##name() = default;                                                                                     \
    explicit __nv_fp8_##name(__half value) : __nv_fp8_##name(double(value.as_float())) {}                            \
    explicit __nv_fp8_##name(__nv_bfloat16 value) : __nv_fp8_##name(double(value.as_float())) {}                     \
    template <class Number, class = std::enable_if_t<std::is_arithmetic_v<Number>>>                                  \
    explicit __nv_fp8_##name(Number value)                                                                           \
        : __x(__nv_cvt_double_to_fp8(double(value), __NV_SATFINITE, kind)) {}                                        \
    explicit operator __half() const { return __nv_cvt_fp8_to_halfraw(__x, kind); }                                  \
    explicit operator float() const { return __half(*this).as_float(); }                                             \
    explicit operator double() const { return float(*this); }                                                        \
    explicit operator __nv_bfloat16() const { return __nv_bfloat16::of(float(*this)); }                              \
    template <class Integer, class = std::enable_if_t<std::is_integral_v<Integer>>>                                  \
    explicit operator Integer() const {                                                                              \
      if constexpr (std::is_same_v<Integer, bool>) return (__x & 0x7f) != 0;                                         \
      else return sim::to_integer<Integer, sim::Rounding::zero>(float(*this));                                       \
    }                                                                                                                \
  };                                                                                                                 \
  struct __attribute__((aligned(2))) __nv_fp8x2_##name {                                                             \
    __nv_fp8x2_storage_t __x;                                                                                        \
    __nv_fp8x2_##name() = default;                                                                                   \
    explicit __nv_fp8x2_##name(float2 value) : __x(__nv_cvt_float2_to_fp8x2(value, __NV_SATFINITE, kind)) {}         \
    explicit __nv_fp8x2_##name(double2 value) : __x(__nv_cvt_double2_to_fp8x2(value, __NV_SATFINITE, kind)) {}       \
    explicit __nv_fp8x2_##name(__half2 value) : __x(__nv_cvt_halfraw2_to_fp8x2(value, __NV_SATFINITE, kind)) {}      \
    explicit __nv_fp8x2_##name(__nv_bfloat162 value)                                                                 \
        : __x(__nv_cvt_bfloat16raw2_to_fp8x2(value, __NV_SATFINITE, kind)) {}                                        \
    explicit operator __half2() const { return __nv_cvt_fp8x2_to_halfraw2(__x, kind); }                              \
    explicit operator float2() const { return __half22float2(__half2(*this)); }                                      \
  };                                                                                                                 \
  struct __attribute__((aligned(4))) __nv_fp8x4_##name {                                                             \
    __nv_fp8x4_storage_t __x;                                                                                        \
    __nv_fp8x4_##name() = default;                                                                                   \
    explicit __nv_fp8x4_##name(float4 value)                                                                         \
        : __x(__nv_fp8x2_##name(float2{value.x, value.y}).__x |                                                      \
              unsigned(__nv_fp8x2_##name(float2{value.z, value.w}).__x) << 16) {}                                    \
    explicit __nv_fp8x4_##name(double4 value)                                                                        \
        : __x(__nv_fp8x2_##name(double2{value.x, value.y}).__x |                                                     \
              unsigned(__nv_fp8x2_##name(double2{value.z, value.w}).__x) << 16) {}                                   \
    explicit __nv_fp8x4_##name(__half2 low, __half2 high)                                                            \
        : __x(__nv_fp8x2_##name(low).__x | unsigned(__nv_fp8x2_##name(high).__x) << 16) {}                           \
    explicit __nv_fp8x4_##name(__nv_bfloat162 low, __nv_bfloat162 high)                                              \
        : __x(__nv_fp8x2_##name(low).__x | unsigned(__nv_fp8x2_##name(high).__x) << 16) {}                           \
    explicit operator float4() const {                                                                               \
      float2 low = __half22float2(__nv_cvt_fp8x2_to_halfraw2(__x & 0xffff, kind));                                   \
      float2 high = __half22float2(__nv_cvt_fp8x2_to_halfraw2(__x >> 16, kind));                                     \
      return float4{low.x, low.y, high.x, high.y};                                                                   \
    }                                                                                                                \
  };
SIM_FP8(e4m3, __NV_E4M3)
SIM_FP8(e5m2, __NV_E5M2)
#undef SIM_FP8
