// One 16-bit float type and its pair, from the type torch has for it. Included once per type with
// SIM_HALF (the scalar's name), SIM_HALF2, SIM_HALF_TORCH, SIM_HALF_LOW2, SIM_HALF_HIGH2 and SIM_HALF_TO_FLOAT
// defined, and SIM_HALF_CONVERTS / SIM_HALF_OPERATES to 0 where torch's build flags take those away.

struct SIM_HALF {
  unsigned short bits;

  SIM_HALF() = default;
#if SIM_HALF_CONVERTS
  SIM_HALF(float value) : bits(SIM_HALF_TORCH(value).x) {}
  SIM_HALF(double value) : SIM_HALF(float(value)) {}
  SIM_HALF(int value) : SIM_HALF(float(value)) {}
  SIM_HALF(unsigned value) : SIM_HALF(float(value)) {}
  SIM_HALF(long long value) : SIM_HALF(float(value)) {}
  operator float() const { return as_float(); }
#else
  explicit SIM_HALF(float value) : bits(SIM_HALF_TORCH(value).x) {}
  explicit SIM_HALF(double value) : SIM_HALF(float(value)) {}
  explicit SIM_HALF(int value) : SIM_HALF(float(value)) {}
#endif
  static SIM_HALF of(float value) {
    SIM_HALF half;
    half.bits = SIM_HALF_TORCH(value).x;
    return half;
  }
  float as_float() const { return static_cast<float>(SIM_HALF_TORCH(bits, SIM_HALF_TORCH::from_bits())); }
};

struct __attribute__((aligned(4))) SIM_HALF2 {
  SIM_HALF x, y;
  SIM_HALF2() = default;
  SIM_HALF2(SIM_HALF low, SIM_HALF high) : x(low), y(high) {}
};

#define SIM_UNARY(name, expression)          \
  static inline SIM_HALF name(SIM_HALF a) {  \
    float x = a.as_float();                  \
    return SIM_HALF::of(expression);         \
  }
#define SIM_BINARY(name, expression)                                                        \
  static inline SIM_HALF name(SIM_HALF a, SIM_HALF b) {                                     \
    float x = a.as_float(), y = b.as_float();                                               \
    return SIM_HALF::of(expression);                                                        \
  }                                                                                         \
  static inline SIM_HALF2 name##2(SIM_HALF2 a, SIM_HALF2 b) { return {name(a.x, b.x), name(a.y, b.y)}; }
#define SIM_COMPARE(name, op) \
  static inline bool name(SIM_HALF a, SIM_HALF b) { return a.as_float() op b.as_float(); }

SIM_BINARY(__hadd, x + y)
SIM_BINARY(__hsub, x - y)
SIM_BINARY(__hmul, x * y)
SIM_BINARY(__hdiv, x / y)
SIM_BINARY(__hmax, fmaxf(x, y))
SIM_BINARY(__hmin, fminf(x, y))
SIM_UNARY(__hneg, -x)
SIM_UNARY(__habs, fabsf(x))
SIM_UNARY(hexp, expf(x))
SIM_UNARY(hlog, logf(x))
SIM_UNARY(hsqrt, sqrtf(x))
SIM_UNARY(hrsqrt, 1.0f / sqrtf(x))
SIM_UNARY(hrcp, 1.0f / x)
SIM_UNARY(htanh, tanhf(x))
SIM_UNARY(hsin, sinf(x))
SIM_UNARY(hcos, cosf(x))
SIM_UNARY(hfloor, floorf(x))
SIM_UNARY(hceil, ceilf(x))
SIM_COMPARE(__hgt, >)
SIM_COMPARE(__hlt, <)
SIM_COMPARE(__hge, >=)
SIM_COMPARE(__hle, <=)
SIM_COMPARE(__heq, ==)
SIM_COMPARE(__hne, !=)

static inline SIM_HALF __hfma(SIM_HALF a, SIM_HALF b, SIM_HALF c) {
  return SIM_HALF::of(fmaf(a.as_float(), b.as_float(), c.as_float()));
}
static inline SIM_HALF2 __hfma2(SIM_HALF2 a, SIM_HALF2 b, SIM_HALF2 c) {
  return {__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)};
}
static inline bool __hisnan(SIM_HALF a) { return a.as_float() != a.as_float(); }
static inline float __low2float(SIM_HALF2 a) { return a.x.as_float(); }
static inline float __high2float(SIM_HALF2 a) { return a.y.as_float(); }
static inline SIM_HALF SIM_HALF_LOW2(SIM_HALF2 a) { return a.x; }
static inline SIM_HALF SIM_HALF_HIGH2(SIM_HALF2 a) { return a.y; }
static inline float SIM_HALF_TO_FLOAT(SIM_HALF a) { return a.as_float(); }

#if SIM_HALF_OPERATES
#define SIM_OPERATOR(op, function)                                                                \
  static inline SIM_HALF operator op(SIM_HALF a, SIM_HALF b) { return function(a, b); }           \
  static inline SIM_HALF& operator op##=(SIM_HALF& a, SIM_HALF b) { return a = function(a, b); }  \
  static inline SIM_HALF2 operator op(SIM_HALF2 a, SIM_HALF2 b) { return function##2(a, b); }
SIM_OPERATOR(+, __hadd)
SIM_OPERATOR(-, __hsub)
SIM_OPERATOR(*, __hmul)
SIM_OPERATOR(/, __hdiv)
static inline SIM_HALF operator-(SIM_HALF a) { return __hneg(a); }
SIM_COMPARE(operator>, >)
SIM_COMPARE(operator<, <)
SIM_COMPARE(operator>=, >=)
SIM_COMPARE(operator<=, <=)
SIM_COMPARE(operator==, ==)
SIM_COMPARE(operator!=, !=)
#undef SIM_OPERATOR
#endif

#if defined(HARNESS_SIM_DEVICE)
static inline SIM_HALF atomicAdd(SIM_HALF* address, SIM_HALF value) {
  return sim::read_modify_write(address, [value](SIM_HALF old) { return __hadd(old, value); });
}
#endif

#undef SIM_UNARY
#undef SIM_BINARY
#undef SIM_COMPARE
#undef SIM_HALF
#undef SIM_HALF2
#undef SIM_HALF_TORCH
#undef SIM_HALF_LOW2
#undef SIM_HALF_HIGH2
#undef SIM_HALF_TO_FLOAT
#undef SIM_HALF_CONVERTS
#undef SIM_HALF_OPERATES
