// Two 16-bit or four 8-bit integers in one word: __vadd2 and its relatives.
#pragma once
#include <cstdint>

namespace sim {

// `operation` on each part of `a` and `b`, taken as `Part`; the low bits of its results side by side.
template <class Part, class Operation>
static inline unsigned each_part(unsigned a, unsigned b, Operation operation) {
  constexpr int bits = 8 * sizeof(Part);
  constexpr unsigned mask = (1u << bits) - 1;
  unsigned parts = 0;
  for (int at = 0; at < 32; at += bits) parts |= (unsigned(operation(int(Part(a >> at)), int(Part(b >> at)))) & mask) << at;
  return parts;
}
template <class Part, class Operation>
static inline unsigned sum_of_parts(unsigned a, unsigned b, Operation operation) {
  constexpr int bits = 8 * sizeof(Part);
  unsigned sum = 0;
  for (int at = 0; at < 32; at += bits) sum += operation(int(Part(a >> at)), int(Part(b >> at)));
  return sum;
}
template <class Part>
static inline int clamped(int x) {
  constexpr bool is_signed = Part(-1) < Part(0);
  constexpr int bits = 8 * sizeof(Part), low = is_signed ? -(1 << (bits - 1)) : 0;
  constexpr int high = is_signed ? (1 << (bits - 1)) - 1 : (1 << bits) - 1;
  return x < low ? low : x > high ? high : x;
}

}  // namespace sim

#define SIM_PARTS(name, Part, expression)                                        \
  static inline unsigned name(unsigned a, unsigned b) {                          \
    return sim::each_part<Part>(a, b, [](int x, int y) { return expression; });  \
  }
#define SIM_PARTS_ONE(name, Part, expression)                                    \
  static inline unsigned name(unsigned a) {                                      \
    return sim::each_part<Part>(a, 0, [](int x, int) { return expression; });    \
  }
#define SIM_PARTS_SUM(name, Part, expression)                                       \
  static inline unsigned name(unsigned a, unsigned b) {                             \
    return sim::sum_of_parts<Part>(a, b, [](int x, int y) { return expression; });  \
  }
#define SIM_PARTS_COMPARE(relation, n, Part, op)            \
  SIM_PARTS(__vcmp##relation##n, Part, x op y ? -1 : 0)     \
  SIM_PARTS(__vset##relation##n, Part, x op y ? 1 : 0)
#define SIM_VIDEO(n, Signed, Unsigned)                                    \
  SIM_PARTS(__vadd##n, Unsigned, x + y)                                   \
  SIM_PARTS(__vaddss##n, Signed, sim::clamped<Signed>(x + y))           \
  SIM_PARTS(__vaddus##n, Unsigned, sim::clamped<Unsigned>(x + y))       \
  SIM_PARTS(__vsub##n, Unsigned, x - y)                                   \
  SIM_PARTS(__vsubss##n, Signed, sim::clamped<Signed>(x - y))           \
  SIM_PARTS(__vsubus##n, Unsigned, sim::clamped<Unsigned>(x - y))       \
  SIM_PARTS(__vavgu##n, Unsigned, (x + y + 1) >> 1)                       \
  SIM_PARTS(__vhaddu##n, Unsigned, (x + y) >> 1)                          \
  SIM_PARTS(__vmaxs##n, Signed, x > y ? x : y)                            \
  SIM_PARTS(__vmaxu##n, Unsigned, x > y ? x : y)                          \
  SIM_PARTS(__vmins##n, Signed, x < y ? x : y)                            \
  SIM_PARTS(__vminu##n, Unsigned, x < y ? x : y)                          \
  SIM_PARTS(__vabsdiffs##n, Signed, x > y ? x - y : y - x)                \
  SIM_PARTS(__vabsdiffu##n, Unsigned, x > y ? x - y : y - x)              \
  SIM_PARTS_ONE(__vabs##n, Signed, x < 0 ? -x : x)                        \
  SIM_PARTS_ONE(__vabsss##n, Signed, sim::clamped<Signed>(x < 0 ? -x : x)) \
  SIM_PARTS_ONE(__vneg##n, Signed, -x)                                    \
  SIM_PARTS_ONE(__vnegss##n, Signed, sim::clamped<Signed>(-x))          \
  SIM_PARTS_SUM(__vsads##n, Signed, x > y ? x - y : y - x)                \
  SIM_PARTS_SUM(__vsadu##n, Unsigned, x > y ? x - y : y - x)              \
  SIM_PARTS_COMPARE(eq, n, Unsigned, ==)                                  \
  SIM_PARTS_COMPARE(ne, n, Unsigned, !=)                                  \
  SIM_PARTS_COMPARE(gts, n, Signed, >)                                    \
  SIM_PARTS_COMPARE(gtu, n, Unsigned, >)                                  \
  SIM_PARTS_COMPARE(ges, n, Signed, >=)                                   \
  SIM_PARTS_COMPARE(geu, n, Unsigned, >=)                                 \
  SIM_PARTS_COMPARE(lts, n, Signed, <)                                    \
  SIM_PARTS_COMPARE(ltu, n, Unsigned, <)                                  \
  SIM_PARTS_COMPARE(les, n, Signed, <=)                                   \
  SIM_PARTS_COMPARE(leu, n, Unsigned, <=)
SIM_VIDEO(2, int16_t, uint16_t)
SIM_VIDEO(4, int8_t, uint8_t)
#undef SIM_PARTS
#undef SIM_PARTS_ONE
#undef SIM_PARTS_SUM
#undef SIM_PARTS_COMPARE
#undef SIM_VIDEO
