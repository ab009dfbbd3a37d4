// Cached loads and stores, and operations on the bits of integers.
#pragma once
#include <cstring>

#define SIM_CACHED_LOAD(name) \
  template <class T>          \
  static inline T name(const T* p) { return *p; }
#define SIM_CACHED_STORE(name) \
  template <class T>           \
  static inline void name(T* p, T value) { *p = value; }
SIM_CACHED_LOAD(__ldg)
SIM_CACHED_LOAD(__ldcg)
SIM_CACHED_LOAD(__ldca)
SIM_CACHED_LOAD(__ldcs)
SIM_CACHED_LOAD(__ldcv)
SIM_CACHED_LOAD(__ldlu)
SIM_CACHED_STORE(__stcg)
SIM_CACHED_STORE(__stcs)
SIM_CACHED_STORE(__stwb)
SIM_CACHED_STORE(__stwt)
#undef SIM_CACHED_LOAD
#undef SIM_CACHED_STORE

static inline void __prefetch_global_l1(const void*) {}
static inline void __prefetch_global_l2(const void*) {}

static inline int __popc(unsigned x) { return __builtin_popcount(x); }
static inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
static inline int __clz(int x) { return x ? __builtin_clz(x) : 32; }
static inline int __clzll(long long x) { return x ? __builtin_clzll(x) : 64; }
static inline int __ffs(int x) { return __builtin_ffs(x); }
static inline int __ffsll(long long x) { return __builtin_ffsll(x); }
static inline unsigned long long __brevll(unsigned long long x) {
  unsigned long long reversed = 0;
  for (int i = 0; i < 64; i++) reversed |= (x >> i & 1u) << (63 - i);
  return reversed;
}
static inline unsigned __brev(unsigned x) { return unsigned(__brevll(x) >> 32); }
// The position of the offset-th set bit from `base` upwards (offset > 0), downwards (< 0), or `base` itself (0).
static inline unsigned __fns(unsigned mask, unsigned base, int offset) {
  int step = offset < 0 ? -1 : 1, left = offset < 0 ? -offset : offset ? offset : 1;
  for (int i = int(base); i >= 0 && i < 32; i += step) {
    left -= mask >> i & 1;
    if (left == 0) return i;
    if (offset == 0) break;
  }
  return 0xffffffffu;
}
static inline int __mul24(int a, int b) { return int(unsigned(a << 8 >> 8) * unsigned(b << 8 >> 8)); }
static inline unsigned __umul24(unsigned a, unsigned b) { return (a & 0xffffff) * (b & 0xffffff); }
static inline int __mulhi(int a, int b) { return int((long long)a * b >> 32); }
static inline unsigned __umulhi(unsigned a, unsigned b) { return unsigned((unsigned long long)a * b >> 32); }
static inline long long __mul64hi(long long a, long long b) { return (long long)((__int128)a * b >> 64); }
static inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return (unsigned long long)((unsigned __int128)a * b >> 64);
}
static inline int __hadd(int a, int b) { return int(((long long)a + b) >> 1); }
static inline int __rhadd(int a, int b) { return int(((long long)a + b + 1) >> 1); }
static inline unsigned __uhadd(unsigned a, unsigned b) { return unsigned(((unsigned long long)a + b) >> 1); }
static inline unsigned __urhadd(unsigned a, unsigned b) { return unsigned(((unsigned long long)a + b + 1) >> 1); }
static inline unsigned __sad(int a, int b, unsigned sum) { return (a > b ? (unsigned)a - b : (unsigned)b - a) + sum; }
static inline unsigned __usad(unsigned a, unsigned b, unsigned sum) { return (a > b ? a - b : b - a) + sum; }

static inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift) {
  return unsigned((((unsigned long long)high << 32 | low) << (shift & 31)) >> 32);
}
static inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
  return unsigned(((unsigned long long)high << 32 | low) >> (shift & 31));
}
static inline unsigned __funnelshift_lc(unsigned low, unsigned high, unsigned shift) {
  return shift >= 32 ? low : __funnelshift_l(low, high, shift);
}
static inline unsigned __funnelshift_rc(unsigned low, unsigned high, unsigned shift) {
  return shift >= 32 ? high : __funnelshift_r(low, high, shift);
}
static inline unsigned __byte_perm(unsigned low, unsigned high, unsigned selector) {
  unsigned long long bytes = (unsigned long long)high << 32 | low;
  unsigned chosen = 0;
  for (int i = 0; i < 4; i++) chosen |= unsigned(bytes >> 8 * (selector >> 4 * i & 7) & 0xff) << 8 * i;
  return chosen;
}

namespace sim {

// Sum of products of the bytes of b with parts of a that are `a_bits` wide, four or two of them.
template <class A, class B, class Sum>
static inline Sum dot(unsigned a, unsigned b, Sum sum) {
  constexpr int a_bits = 8 * sizeof(A), count = 32 / a_bits;
  for (int i = 0; i < count; i++) sum += Sum(A(a >> a_bits * i)) * Sum(B(b >> 8 * i));
  return sum;
}
template <class Vector>
static inline unsigned word(Vector vector) {
  unsigned bits;
  static_assert(sizeof vector == sizeof bits, "one 32-bit word");
  __builtin_memcpy(&bits, &vector, sizeof bits);
  return bits;
}

}  // namespace sim

static inline int __dp4a(int a, int b, int sum) { return sim::dot<signed char, signed char>(a, b, sum); }
static inline unsigned __dp4a(unsigned a, unsigned b, unsigned sum) {
  return sim::dot<unsigned char, unsigned char>(a, b, sum);
}
static inline int __dp4a(char4 a, char4 b, int sum) { return __dp4a(int(sim::word(a)), int(sim::word(b)), sum); }
static inline unsigned __dp4a(uchar4 a, uchar4 b, unsigned sum) { return __dp4a(sim::word(a), sim::word(b), sum); }
static inline int __dp2a_lo(int a, int b, int sum) { return sim::dot<short, signed char>(a, b, sum); }
static inline int __dp2a_hi(int a, int b, int sum) { return sim::dot<short, signed char>(a, unsigned(b) >> 16, sum); }
static inline unsigned __dp2a_lo(unsigned a, unsigned b, unsigned sum) {
  return sim::dot<unsigned short, unsigned char>(a, b, sum);
}
static inline unsigned __dp2a_hi(unsigned a, unsigned b, unsigned sum) {
  return sim::dot<unsigned short, unsigned char>(a, b >> 16, sum);
}
static inline int __dp2a_lo(short2 a, char4 b, int sum) { return __dp2a_lo(int(sim::word(a)), int(sim::word(b)), sum); }
static inline int __dp2a_hi(short2 a, char4 b, int sum) { return __dp2a_hi(int(sim::word(a)), int(sim::word(b)), sum); }
static inline unsigned __dp2a_lo(ushort2 a, uchar4 b, unsigned sum) {
  return __dp2a_lo(sim::word(a), sim::word(b), sum);
}
static inline unsigned __dp2a_hi(ushort2 a, uchar4 b, unsigned sum) {
  return __dp2a_hi(sim::word(a), sim::word(b), sum);
}
