// One 16-bit float type and its pair, with all of its functions. Included once per type with SIM_N (`half` or
// `bfloat16`, as CUDA's names have it), SIM_HALF, SIM_HALF2, SIM_RAW, SIM_RAW2, SIM_TORCH (c10's type), SIM_EXPLICIT,
// SIM_EXPONENT_BITS, SIM_FRACTION_BITS, and SIM_CONVERTS, SIM_OPERATES, SIM_OPERATES2 as 0 where torch's build flags
// take those away. Results are rounded once: float holds more than twice the bits, which makes the second rounding of
// + - * / and sqrt harmless; a fused multiply-add goes through double with its lost bits remembered.

#define SIM_PASTE_(a, b, c) a##b##c
#define SIM_PASTE(a, b, c) SIM_PASTE_(a, b, c)

struct SIM_RAW {
  unsigned short x;
};
struct __attribute__((aligned(4))) SIM_RAW2 {
  unsigned short x, y;
};

struct SIM_HALF {
  unsigned short bits;

  SIM_HALF() = default;
  constexpr SIM_HALF(const SIM_RAW& raw) : bits(raw.x) {}
  operator SIM_RAW() const { return SIM_RAW{bits}; }
  // torch's type converts both ways when nvcc compiles it; to bfloat16 only on request.
  SIM_EXPLICIT SIM_HALF(const SIM_TORCH& value) : bits(value.x) {}
  operator SIM_TORCH() const { return SIM_TORCH(bits, SIM_TORCH::from_bits()); }
#if SIM_CONVERTS
  SIM_HALF(float value) : SIM_HALF(of(value)) {}
  SIM_HALF(double value) : SIM_HALF(narrow(value, sim::Rounding::nearest)) {}
  SIM_HALF(short value) : SIM_HALF(of(value)) {}
  SIM_HALF(unsigned short value) : SIM_HALF(of(value)) {}
  SIM_HALF(int value) : SIM_HALF(double(value)) {}
  SIM_HALF(unsigned value) : SIM_HALF(double(value)) {}
  SIM_HALF(long value) : SIM_HALF(sim::to_odd_double(value)) {}
  SIM_HALF(unsigned long value) : SIM_HALF(sim::to_odd_double(value)) {}
  SIM_HALF(long long value) : SIM_HALF(sim::to_odd_double(value)) {}
  SIM_HALF(unsigned long long value) : SIM_HALF(sim::to_odd_double(value)) {}
  operator float() const { return as_float(); }
  template <class Integer, class = std::enable_if_t<std::is_integral_v<Integer>>>
  operator Integer() const {
    if constexpr (std::is_same_v<Integer, bool>) return (bits & 0x7fff) != 0;
    else return sim::to_integer<Integer, sim::Rounding::zero>(as_float());
  }
#endif
  static SIM_HALF of_bits(unsigned short bits) { return SIM_HALF(SIM_RAW{bits}); }
  static SIM_HALF narrow(double value, sim::Rounding rounding) {
    return of_bits(sim::narrowed<SIM_EXPONENT_BITS, SIM_FRACTION_BITS>(value, rounding));
  }
  static SIM_HALF of(float value) {
#if SIM_EXPONENT_BITS == 8
    unsigned word = sim::bits_as<unsigned>(value);
    if (value != value) return of_bits(0x7fff);
    return of_bits((word + 0x7fff + (word >> 16 & 1)) >> 16);
#elif defined(__F16C__)
    return of_bits(value != value ? 0x7fff : _cvtss_sh(value, 0));
#else
    return narrow(value, sim::Rounding::nearest);
#endif
  }
  float as_float() const {
#if SIM_EXPONENT_BITS == 8
    return sim::bits_as<float>(unsigned(bits) << 16);
#elif defined(__F16C__)
    return _cvtsh_ss(bits);
#else
    return static_cast<float>(SIM_TORCH(bits, SIM_TORCH::from_bits()));
#endif
  }
};

struct __attribute__((aligned(4))) SIM_HALF2 {
  SIM_HALF x, y;
  SIM_HALF2() = default;
  SIM_HALF2(const SIM_HALF& low, const SIM_HALF& high) : x(low), y(high) {}
  SIM_HALF2(const SIM_RAW2& raw) : x(SIM_RAW{raw.x}), y(SIM_RAW{raw.y}) {}
  operator SIM_RAW2() const { return SIM_RAW2{x.bits, y.bits}; }
};

// ---- Conversions: `TO(int)` is the name of __half2int or __bfloat162int, `FROM(int)` of __int2half and so on.

#define SIM_TO(type) SIM_PASTE(__, SIM_N, 2##type)
#define SIM_FROM(type) SIM_PASTE(__##type##2, SIM_N, )
#define SIM_OTHER(before, after) SIM_PASTE(before, SIM_N, after)

static inline float SIM_TO(float)(SIM_HALF a) { return a.as_float(); }
static inline SIM_HALF SIM_FROM(float)(float a) { return SIM_HALF::of(a); }
static inline SIM_HALF SIM_FROM(double)(double a) { return SIM_HALF::narrow(a, sim::Rounding::nearest); }

#define SIM_INTEGER_CONVERSIONS(type, name, mode, rounding)                                                          \
  static inline type SIM_PASTE(__, SIM_N, 2##name##_##mode)(SIM_HALF a) {                                            \
    return sim::to_integer<type, rounding>(a.as_float());                                                            \
  }                                                                                                                  \
  static inline SIM_HALF SIM_PASTE(__##name##2, SIM_N, _##mode)(type a) {                                            \
    return SIM_HALF::narrow(sim::to_odd_double(a), rounding);                                                        \
  }
#define SIM_CONVERSIONS(mode, rounding)                                            \
  static inline SIM_HALF SIM_PASTE(__float2, SIM_N, _##mode)(float a) {            \
    return SIM_HALF::narrow(a, rounding);                                          \
  }                                                                                \
  SIM_INTEGER_CONVERSIONS(short, short, mode, rounding)                            \
  SIM_INTEGER_CONVERSIONS(unsigned short, ushort, mode, rounding)                  \
  SIM_INTEGER_CONVERSIONS(int, int, mode, rounding)                                \
  SIM_INTEGER_CONVERSIONS(unsigned, uint, mode, rounding)                          \
  SIM_INTEGER_CONVERSIONS(long long, ll, mode, rounding)                           \
  SIM_INTEGER_CONVERSIONS(unsigned long long, ull, mode, rounding)
SIM_EACH_ROUNDING(SIM_CONVERSIONS)
#undef SIM_INTEGER_CONVERSIONS
#undef SIM_CONVERSIONS
static inline signed char SIM_TO(char_rz)(SIM_HALF a) {
  return sim::to_integer<signed char, sim::Rounding::zero>(a.as_float());
}
static inline unsigned char SIM_TO(uchar_rz)(SIM_HALF a) {
  return sim::to_integer<unsigned char, sim::Rounding::zero>(a.as_float());
}

static inline unsigned short SIM_OTHER(__, _as_ushort)(SIM_HALF a) { return a.bits; }
static inline short SIM_OTHER(__, _as_short)(SIM_HALF a) { return short(a.bits); }
static inline SIM_HALF SIM_OTHER(__ushort_as_, )(unsigned short bits) { return SIM_HALF::of_bits(bits); }
static inline SIM_HALF SIM_OTHER(__short_as_, )(short bits) { return SIM_HALF::of_bits(bits); }

// ---- Pairs.

static inline SIM_HALF2 SIM_OTHER(make_, 2)(SIM_HALF low, SIM_HALF high) { return {low, high}; }
static inline SIM_HALF2 SIM_OTHER(__halves2, 2)(SIM_HALF low, SIM_HALF high) { return {low, high}; }
static inline SIM_HALF2 SIM_PASTE(SIM_PASTE(__, SIM_N, 2), SIM_N, 2)(SIM_HALF both) { return {both, both}; }
static inline SIM_HALF2 SIM_OTHER(__float2, 2_rn)(float both) { return {SIM_HALF::of(both), SIM_HALF::of(both)}; }
static inline SIM_HALF2 SIM_OTHER(__floats2, 2_rn)(float low, float high) {
  return {SIM_HALF::of(low), SIM_HALF::of(high)};
}
static inline SIM_HALF2 SIM_OTHER(__float22, 2_rn)(float2 a) { return {SIM_HALF::of(a.x), SIM_HALF::of(a.y)}; }
static inline float2 SIM_OTHER(__, 22float2)(SIM_HALF2 a) { return float2{a.x.as_float(), a.y.as_float()}; }
static inline float __low2float(SIM_HALF2 a) { return a.x.as_float(); }
static inline float __high2float(SIM_HALF2 a) { return a.y.as_float(); }
static inline SIM_HALF SIM_OTHER(__low2, )(SIM_HALF2 a) { return a.x; }
static inline SIM_HALF SIM_OTHER(__high2, )(SIM_HALF2 a) { return a.y; }
static inline SIM_HALF2 SIM_OTHER(__low2, 2)(SIM_HALF2 a) { return {a.x, a.x}; }
static inline SIM_HALF2 SIM_OTHER(__high2, 2)(SIM_HALF2 a) { return {a.y, a.y}; }
static inline SIM_HALF2 SIM_OTHER(__lows2, 2)(SIM_HALF2 a, SIM_HALF2 b) { return {a.x, b.x}; }
static inline SIM_HALF2 SIM_OTHER(__highs2, 2)(SIM_HALF2 a, SIM_HALF2 b) { return {a.y, b.y}; }
static inline SIM_HALF2 __lowhigh2highlow(SIM_HALF2 a) { return {a.y, a.x}; }

// ---- Arithmetic.

#define SIM_UNARY(name, pair_name, expression)                                                 \
  static inline SIM_HALF name(SIM_HALF a) {                                                    \
    float x = a.as_float();                                                                    \
    return SIM_HALF::of(expression);                                                           \
  }                                                                                            \
  static inline SIM_HALF2 pair_name(SIM_HALF2 a) { return {name(a.x), name(a.y)}; }
#define SIM_BINARY(name, pair_name, expression)                                                \
  static inline SIM_HALF name(SIM_HALF a, SIM_HALF b) {                                        \
    float x = a.as_float(), y = b.as_float();                                                  \
    return SIM_HALF::of(expression);                                                           \
  }                                                                                            \
  static inline SIM_HALF2 pair_name(SIM_HALF2 a, SIM_HALF2 b) { return {name(a.x, b.x), name(a.y, b.y)}; }
#define SIM_FUSED(name, pair_name, expression)                                                 \
  static inline SIM_HALF name(SIM_HALF a, SIM_HALF b, SIM_HALF c) {                            \
    double x = sim::odd_fma(a.as_float(), b.as_float(), c.as_float());                         \
    return SIM_HALF::narrow(expression, sim::Rounding::nearest);                               \
  }                                                                                            \
  static inline SIM_HALF2 pair_name(SIM_HALF2 a, SIM_HALF2 b, SIM_HALF2 c) {                   \
    return {name(a.x, b.x, c.x), name(a.y, b.y, c.y)};                                         \
  }

SIM_BINARY(__hadd, __hadd2, x + y)
SIM_BINARY(__hsub, __hsub2, x - y)
SIM_BINARY(__hmul, __hmul2, x * y)
SIM_BINARY(__hadd_rn, __hadd2_rn, x + y)
SIM_BINARY(__hsub_rn, __hsub2_rn, x - y)
SIM_BINARY(__hmul_rn, __hmul2_rn, x * y)
SIM_BINARY(__hadd_sat, __hadd2_sat, sim::saturated(x + y))
SIM_BINARY(__hsub_sat, __hsub2_sat, sim::saturated(x - y))
SIM_BINARY(__hmul_sat, __hmul2_sat, sim::saturated(x * y))
SIM_BINARY(__hdiv, __h2div, x / y)
SIM_BINARY(__hmax, __hmax2, sim::larger(x, y))
SIM_BINARY(__hmin, __hmin2, sim::smaller(x, y))
SIM_BINARY(__hmax_nan, __hmax2_nan, x != x || y != y ? x + y : sim::larger(x, y))
SIM_BINARY(__hmin_nan, __hmin2_nan, x != x || y != y ? x + y : sim::smaller(x, y))
SIM_FUSED(__hfma, __hfma2, x)
SIM_FUSED(__hfma_sat, __hfma2_sat, x >= 1 ? 1 : x > 0 ? x : 0)
SIM_FUSED(__hfma_relu, __hfma2_relu, x < 0 ? 0 : x)
static inline SIM_HALF __hneg(SIM_HALF a) { return SIM_HALF::of_bits(a.bits ^ 0x8000); }
static inline SIM_HALF __habs(SIM_HALF a) { return SIM_HALF::of_bits(a.bits & 0x7fff); }
static inline SIM_HALF2 __hneg2(SIM_HALF2 a) { return {__hneg(a.x), __hneg(a.y)}; }
static inline SIM_HALF2 __habs2(SIM_HALF2 a) { return {__habs(a.x), __habs(a.y)}; }
// A complex product and sum.
static inline SIM_HALF2 __hcmadd(SIM_HALF2 a, SIM_HALF2 b, SIM_HALF2 c) {
  SIM_HALF real = __hfma(a.x, b.x, c.x), imaginary = __hfma(a.x, b.y, c.y);
  return {__hfma(__hneg(a.y), b.y, real), __hfma(a.y, b.x, imaginary)};
}

SIM_UNARY(hsqrt, h2sqrt, sqrtf(x))
SIM_UNARY(hrsqrt, h2rsqrt, 1.0f / sqrtf(x))
SIM_UNARY(hrcp, h2rcp, 1.0f / x)
SIM_UNARY(hexp, h2exp, expf(x))
SIM_UNARY(hexp2, h2exp2, exp2f(x))
SIM_UNARY(hexp10, h2exp10, powf(10.0f, x))
SIM_UNARY(hlog, h2log, logf(x))
SIM_UNARY(hlog2, h2log2, log2f(x))
SIM_UNARY(hlog10, h2log10, log10f(x))
SIM_UNARY(hsin, h2sin, sinf(x))
SIM_UNARY(hcos, h2cos, cosf(x))
SIM_UNARY(htanh, h2tanh, tanhf(x))
SIM_UNARY(htanh_approx, h2tanh_approx, tanhf(x))
SIM_UNARY(hfloor, h2floor, floorf(x))
SIM_UNARY(hceil, h2ceil, ceilf(x))
SIM_UNARY(htrunc, h2trunc, truncf(x))
SIM_UNARY(hrint, h2rint, nearbyintf(x))

// ---- Comparisons. The name with a `u` holds for unordered operands, too.

#define SIM_COMPARE(relation, op)                                                                            \
  static inline bool __h##relation(SIM_HALF a, SIM_HALF b) {                                                 \
    float x = a.as_float(), y = b.as_float();                                                                \
    return x == x && y == y && x op y;                                                                       \
  }                                                                                                          \
  static inline bool __h##relation##u(SIM_HALF a, SIM_HALF b) {                                              \
    float x = a.as_float(), y = b.as_float();                                                                \
    return x != x || y != y || x op y;                                                                       \
  }                                                                                                          \
  SIM_COMPARE_PAIRS(relation)                                                                                \
  SIM_COMPARE_PAIRS(relation##u)
#define SIM_COMPARE_PAIRS(relation)                                                                          \
  static inline SIM_HALF2 __h##relation##2(SIM_HALF2 a, SIM_HALF2 b) {                                       \
    return {SIM_HALF::of(__h##relation(a.x, b.x)), SIM_HALF::of(__h##relation(a.y, b.y))};                   \
  }                                                                                                          \
  static inline bool __hb##relation##2(SIM_HALF2 a, SIM_HALF2 b) {                                           \
    return __h##relation(a.x, b.x) && __h##relation(a.y, b.y);                                               \
  }                                                                                                          \
  static inline unsigned __h##relation##2_mask(SIM_HALF2 a, SIM_HALF2 b) {                                   \
    return (__h##relation(a.x, b.x) ? 0xffffu : 0) | (__h##relation(a.y, b.y) ? 0xffff0000u : 0);            \
  }
SIM_COMPARE(gt, >)
SIM_COMPARE(lt, <)
SIM_COMPARE(ge, >=)
SIM_COMPARE(le, <=)
SIM_COMPARE(eq, ==)
SIM_COMPARE(ne, !=)
static inline bool __hisnan(SIM_HALF a) { return a.as_float() != a.as_float(); }
static inline int __hisinf(SIM_HALF a) { return fabsf(a.as_float()) == HUGE_VALF ? (a.bits >> 15 ? -1 : 1) : 0; }
static inline SIM_HALF2 __hisnan2(SIM_HALF2 a) {
  return {SIM_HALF::of(__hisnan(a.x)), SIM_HALF::of(__hisnan(a.y))};
}

// ---- Operators.

#define SIM_OPERATORS(T, one, add, subtract, multiply, divide)                                               \
  static inline T operator+(const T& a, const T& b) { return add(a, b); }                                    \
  static inline T operator-(const T& a, const T& b) { return subtract(a, b); }                               \
  static inline T operator*(const T& a, const T& b) { return multiply(a, b); }                               \
  static inline T operator/(const T& a, const T& b) { return divide(a, b); }                                 \
  static inline T& operator+=(T& a, const T& b) { return a = add(a, b); }                                    \
  static inline T& operator-=(T& a, const T& b) { return a = subtract(a, b); }                               \
  static inline T& operator*=(T& a, const T& b) { return a = multiply(a, b); }                               \
  static inline T& operator/=(T& a, const T& b) { return a = divide(a, b); }                                 \
  static inline T& operator++(T& a) { return a = add(a, one); }                                              \
  static inline T& operator--(T& a) { return a = subtract(a, one); }                                         \
  static inline T operator++(T& a, int) {                                                                    \
    T before = a;                                                                                            \
    ++a;                                                                                                     \
    return before;                                                                                           \
  }                                                                                                          \
  static inline T operator--(T& a, int) {                                                                    \
    T before = a;                                                                                            \
    --a;                                                                                                     \
    return before;                                                                                           \
  }                                                                                                          \
  static inline T operator+(const T& a) { return a; }
#define SIM_RELATIONS(T, prefix, suffix)                                                                     \
  static inline bool operator==(const T& a, const T& b) { return prefix##eq##suffix(a, b); }                 \
  static inline bool operator!=(const T& a, const T& b) { return prefix##neu##suffix(a, b); }                \
  static inline bool operator>(const T& a, const T& b) { return prefix##gt##suffix(a, b); }                  \
  static inline bool operator<(const T& a, const T& b) { return prefix##lt##suffix(a, b); }                  \
  static inline bool operator>=(const T& a, const T& b) { return prefix##ge##suffix(a, b); }                 \
  static inline bool operator<=(const T& a, const T& b) { return prefix##le##suffix(a, b); }
#if SIM_OPERATES
SIM_OPERATORS(SIM_HALF, SIM_HALF::of(1), __hadd, __hsub, __hmul, __hdiv)
static inline SIM_HALF operator-(const SIM_HALF& a) { return __hneg(a); }
SIM_RELATIONS(SIM_HALF, __h, )
#endif
#if SIM_OPERATES2
SIM_OPERATORS(SIM_HALF2, (SIM_HALF2{SIM_HALF::of(1), SIM_HALF::of(1)}), __hadd2, __hsub2, __hmul2, __h2div)
static inline SIM_HALF2 operator-(const SIM_HALF2& a) { return __hneg2(a); }
SIM_RELATIONS(SIM_HALF2, __hb, 2)
#endif

// ---- Between threads.

#if defined(HARNESS_SIM_DEVICE)
SIM_ATOMIC(atomicAdd, SIM_HALF, __hadd(old, value))
SIM_ATOMIC(atomicAdd, SIM_HALF2, __hadd2(old, value))
SIM_SHUFFLES(SIM_HALF)
SIM_SHUFFLES(SIM_HALF2)
#endif

#undef SIM_TO
#undef SIM_FROM
#undef SIM_OTHER
#undef SIM_UNARY
#undef SIM_BINARY
#undef SIM_FUSED
#undef SIM_COMPARE
#undef SIM_COMPARE_PAIRS
#undef SIM_OPERATORS
#undef SIM_RELATIONS
#undef SIM_PASTE
#undef SIM_PASTE_
#undef SIM_N
#undef SIM_HALF
#undef SIM_HALF2
#undef SIM_RAW
#undef SIM_RAW2
#undef SIM_TORCH
#undef SIM_EXPLICIT
#undef SIM_EXPONENT_BITS
#undef SIM_FRACTION_BITS
#undef SIM_CONVERTS
#undef SIM_OPERATES
#undef SIM_OPERATES2
