// Arithmetic and conversion with CUDA's four rounding modes, and none of it fused with what stands beside it.
#pragma once
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

namespace sim {

template <class To, class From>
static inline To bits_as(From from) {
  static_assert(sizeof(To) == sizeof(From), "reinterpretation keeps the size");
  To to;
  __builtin_memcpy(&to, &from, sizeof to);
  return to;
}

enum class Rounding { nearest, zero, down, up };

// What the compiler knows of the value ends here: it is neither fused, folded nor moved across a change of mode.
template <class T>
static inline T opaque(T value) {
  asm volatile("" : "+x"(value));
  return value;
}

// The rounding mode of this host thread, for the length of one operation. `operation` gets its operands opaque.
template <Rounding rounding, class T, class Operation, class... Operands>
static inline T rounded(Operation operation, Operands... operands) {
  if (rounding == Rounding::nearest) return opaque(operation(opaque(operands)...));
  constexpr unsigned mode[] = {0x0000, 0x6000, 0x2000, 0x4000};  // MXCSR.RC
  unsigned before = __builtin_ia32_stmxcsr();
  __builtin_ia32_ldmxcsr((before & ~0x6000u) | mode[int(rounding)]);
  T result = opaque(operation(opaque(operands)...));
  __builtin_ia32_ldmxcsr(before);
  return result;
}

template <Rounding rounding, class T>
static inline T to_integral(T x) {
  switch (rounding) {
    case Rounding::nearest: return std::nearbyint(x);
    case Rounding::zero: return std::trunc(x);
    case Rounding::down: return std::floor(x);
    default: return std::ceil(x);
  }
}

// As the hardware does it: what doesn't fit becomes the nearest that does; NaN becomes 0, or the highest bit alone
// where either side has 64 bits (PTX ISA, cvt).
template <class To, Rounding rounding, class From>
static inline To to_integer(From value) {
  using Limits = std::numeric_limits<To>;
  constexpr bool is_wide = sizeof(To) == 8 || sizeof(From) == 8;
  if (value != value) return is_wide ? To(To(1) << (8 * sizeof(To) - 1)) : To(0);
  From whole = to_integral<rounding>(value);
  if (whole >= std::ldexp(From(1), Limits::digits)) return Limits::max();
  if (whole < From(Limits::min())) return Limits::min();
  return To(whole);
}

// A double with the last bit set where bits of the integer are lost, so that narrowing it rounds only once.
template <class Integer>
static inline double to_odd_double(Integer value) {
  double nearest = double(value);
  __int128 lost = __int128(value) - __int128(nearest);
  if (lost == 0) return nearest;
  int64_t bits = bits_as<int64_t>(nearest);
  if (!(bits & 1)) bits += (lost > 0) == (nearest > 0) ? 1 : -1;
  return bits_as<double>(bits);
}

// a·b + c of numbers whose product a double holds, the last bit set where bits are lost.
static inline double odd_fma(float a, float b, float c) {
  double product = opaque(double(a) * double(b)), addend = c;
  double sum = opaque(product + addend);
  if (!(std::fabs(sum) < std::numeric_limits<double>::infinity())) return sum;
  double product_kept = opaque(sum - addend), addend_kept = opaque(sum - product_kept);
  double lost = (product - product_kept) + (addend - addend_kept);
  int64_t bits = bits_as<int64_t>(sum);
  if (lost != 0 && !(bits & 1)) bits += (lost > 0) == (sum > 0) ? 1 : -1;
  return bits_as<double>(bits);
}

// Within [0, 1]; 0 for NaN.
static inline float saturated(float x) { return x >= 1.0f ? 1.0f : x > 0.0f ? x : 0.0f; }
// Like the hardware's maximum: +0 is larger than -0.
static inline float larger(float a, float b) { return a == b ? (std::signbit(a) ? b : a) : std::fmax(a, b); }
static inline float smaller(float a, float b) { return a == b ? (std::signbit(a) ? a : b) : std::fmin(a, b); }

// The bits of the 16-bit float with `exponent_bits` and `fraction_bits` that `value` rounds to.
template <int exponent_bits, int fraction_bits>
static inline uint16_t narrowed(double value, Rounding rounding) {
  constexpr int bias = (1 << (exponent_bits - 1)) - 1;
  constexpr uint64_t infinity = ((uint64_t(1) << exponent_bits) - 1) << fraction_bits;
  uint64_t bits = bits_as<uint64_t>(value), fraction = bits & ((uint64_t(1) << 52) - 1);
  bool is_negative = bits >> 63;
  uint16_t sign = is_negative ? 0x8000 : 0;
  int field = bits >> 52 & 0x7ff;
  if (field == 0x7ff) return fraction ? 0x7fff : sign | infinity;
  uint64_t significand = field ? fraction | uint64_t(1) << 52 : fraction;
  int exponent = (field ? field : 1) - 1023, shift = 52 - fraction_bits;
  bool is_subnormal = exponent < 1 - bias;
  if (is_subnormal) shift += 1 - bias - exponent;
  if (shift > 62) shift = 62;
  uint64_t kept = significand >> shift, rest = significand & ((uint64_t(1) << shift) - 1);
  uint64_t halfway = uint64_t(1) << (shift - 1);
  bool is_away = rounding == Rounding::nearest ? rest > halfway || (rest == halfway && (kept & 1))
                 : rounding == Rounding::up    ? rest && !is_negative
                 : rounding == Rounding::down  ? rest && is_negative
                                               : false;
  kept += is_away;
  uint64_t magnitude = is_subnormal ? kept : (uint64_t(exponent + bias - 1) << fraction_bits) + kept;
  if (magnitude >= infinity) {
    bool is_finite = rounding == Rounding::zero || rounding == (is_negative ? Rounding::up : Rounding::down);
    magnitude = is_finite ? infinity - 1 : infinity;
  }
  return sign | magnitude;
}

}  // namespace sim

// `ITEM(suffix, rounding)` for each of CUDA's rounding modes.
#define SIM_EACH_ROUNDING(ITEM)        \
  ITEM(rn, sim::Rounding::nearest)     \
  ITEM(rz, sim::Rounding::zero)        \
  ITEM(rd, sim::Rounding::down)        \
  ITEM(ru, sim::Rounding::up)
