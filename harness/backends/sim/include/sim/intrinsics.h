// Cached loads, bit operations, reinterpretation and conversion.
#pragma once
#include <cmath>
#include <cstring>

template <class T> static inline T __ldg(const T* p) { return *p; }
template <class T> static inline T __ldcg(const T* p) { return *p; }
template <class T> static inline T __ldca(const T* p) { return *p; }
template <class T> static inline T __ldcs(const T* p) { return *p; }
template <class T> static inline T __ldcv(const T* p) { return *p; }
template <class T> static inline T __ldlu(const T* p) { return *p; }
template <class T> static inline void __stcg(T* p, T value) { *p = value; }
template <class T> static inline void __stcs(T* p, T value) { *p = value; }
template <class T> static inline void __stwb(T* p, T value) { *p = value; }
template <class T> static inline void __stwt(T* p, T value) { *p = value; }

static inline int __popc(unsigned x) { return __builtin_popcount(x); }
static inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
static inline int __clz(int x) { return x ? __builtin_clz(x) : 32; }
static inline int __clzll(long long x) { return x ? __builtin_clzll(x) : 64; }
static inline int __ffs(int x) { return __builtin_ffs(x); }
static inline int __ffsll(long long x) { return __builtin_ffsll(x); }
static inline unsigned __brev(unsigned x) {
  unsigned reversed = 0;
  for (int i = 0; i < 32; i++) reversed |= (x >> i & 1u) << (31 - i);
  return reversed;
}
static inline int __mul24(int a, int b) { return (a << 8 >> 8) * (b << 8 >> 8); }
static inline unsigned __umul24(unsigned a, unsigned b) { return (a & 0xffffff) * (b & 0xffffff); }
static inline int __mulhi(int a, int b) { return int((long long)a * b >> 32); }
static inline unsigned __umulhi(unsigned a, unsigned b) { return unsigned((unsigned long long)a * b >> 32); }
static inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift) {
  return unsigned((((unsigned long long)high << 32 | low) << (shift & 31)) >> 32);
}
static inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
  return unsigned(((unsigned long long)high << 32 | low) >> (shift & 31));
}
static inline unsigned __byte_perm(unsigned low, unsigned high, unsigned selector) {
  unsigned long long bytes = (unsigned long long)high << 32 | low;
  unsigned chosen = 0;
  for (int i = 0; i < 4; i++) chosen |= unsigned(bytes >> 8 * (selector >> 4 * i & 7) & 0xff) << 8 * i;
  return chosen;
}
static inline int __dp4a(int a, int b, int sum) {
  for (int byte = 0; byte < 32; byte += 8) sum += (signed char)(a >> byte) * (signed char)(b >> byte);
  return sum;
}

namespace sim {
template <class To, class From>
static inline To bits_as(From from) {
  static_assert(sizeof(To) == sizeof(From), "reinterpretation keeps the size");
  To to;
  __builtin_memcpy(&to, &from, sizeof to);
  return to;
}
}  // namespace sim

static inline int __float_as_int(float x) { return sim::bits_as<int>(x); }
static inline unsigned __float_as_uint(float x) { return sim::bits_as<unsigned>(x); }
static inline float __int_as_float(int x) { return sim::bits_as<float>(x); }
static inline float __uint_as_float(unsigned x) { return sim::bits_as<float>(x); }
static inline long long __double_as_longlong(double x) { return sim::bits_as<long long>(x); }
static inline double __longlong_as_double(long long x) { return sim::bits_as<double>(x); }

static inline int __float2int_rn(float x) { return int(nearbyintf(x)); }
static inline int __float2int_rd(float x) { return int(floorf(x)); }
static inline int __float2int_ru(float x) { return int(ceilf(x)); }
static inline int __float2int_rz(float x) { return int(x); }
static inline unsigned __float2uint_rn(float x) { return unsigned(nearbyintf(x)); }
static inline unsigned __float2uint_rd(float x) { return unsigned(floorf(x)); }
static inline unsigned __float2uint_rz(float x) { return unsigned(x); }
static inline float __int2float_rn(int x) { return float(x); }
static inline float __uint2float_rn(unsigned x) { return float(x); }
static inline double __int2double_rn(int x) { return double(x); }
static inline float __double2float_rn(double x) { return float(x); }
static inline int __double2int_rn(double x) { return int(nearbyint(x)); }
static inline int __double2int_rz(double x) { return int(x); }
