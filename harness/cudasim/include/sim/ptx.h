// Instructions of inline PTX that have no function of CUDA's: what harness/cudasim/inline_ptx.py writes for asm. Included
// where a source has such a statement. Layouts of matrices are those of the PTX ISA ("Matrix Fragments for mma", "ldmatrix").
#pragma once
#include "sim/prelude.h"

#if defined(HARNESS_SIM_DEVICE)
#define SIM_PTX __attribute__((always_inline)) static inline

// Names that no parameter of a macro has, in which an asm statement may stand.
namespace sim {

// A register has bits, and each instruction takes them for what it likes.
template <class To, class From>
SIM_PTX To ptx_as(From from) {
  if constexpr (std::is_pointer_v<From>) return To(reinterpret_cast<uintptr_t>(from));
  else if constexpr (std::is_floating_point_v<From> == std::is_floating_point_v<To>) return To(from);
  else if constexpr (sizeof(From) == sizeof(To)) return sim::bits_as<To>(from);
  else if constexpr (std::is_floating_point_v<To>) return sim::bits_as<To>(std::conditional_t<sizeof(To) == 4, unsigned, unsigned long long>(from));
  else return To(sim::bits_as<std::conditional_t<sizeof(From) == 4, unsigned, unsigned long long>>(from));
}
template <class Register, class Value>
SIM_PTX void ptx_set(Register& into, Value value) {
  if constexpr (std::is_pointer_v<Register>) into = reinterpret_cast<Register>(uintptr_t(value));
  else into = ptx_as<Register>(value);
}
// An operand that is only read; an array is its address. By value: a reference to a __restrict__ pointer is none to
// another.
template <class Value>
SIM_PTX Value ptx_input(Value value) {
  return value;
}

SIM_PTX char* ptx_address(unsigned long long where, bool is_shared) {
  return is_shared ? static_cast<char*>(sim_in_shared(unsigned(where))) : reinterpret_cast<char*>(where);
}

template <class T, int count>
struct alignas(sizeof(T) * count) ptx_Vector {
  T sim_x[count];
};
template <class T, int count>
SIM_PTX ptx_Vector<T, count> ptx_load(const char* from) {
  return *reinterpret_cast<const ptx_Vector<T, count>*>(from);
}
template <class T, int count>
SIM_PTX void ptx_store(char* to, const ptx_Vector<T, count>& value) {
  *reinterpret_cast<ptx_Vector<T, count>*>(to) = value;
}
// Of what other threads wait for: each element by itself, as the checker knows it from flags and counters.
template <class T, int count>
SIM_PTX ptx_Vector<T, count> ptx_load_volatile(const char* from) {
  ptx_Vector<T, count> value;
  for (int i = 0; i < count; i++) value.sim_x[i] = reinterpret_cast<const volatile T*>(from)[i];
  return value;
}
template <class T, int count>
SIM_PTX void ptx_store_volatile(char* to, const ptx_Vector<T, count>& value) {
  for (int i = 0; i < count; i++) reinterpret_cast<volatile T*>(to)[i] = value.sim_x[i];
}
template <class T, int count>
SIM_PTX ptx_Vector<T, count> ptx_load_atomic(const char* from) {
  ptx_Vector<T, count> value;
  for (int i = 0; i < count; i++) __atomic_load(reinterpret_cast<const T*>(from) + i, &value.sim_x[i], __ATOMIC_ACQUIRE);
  return value;
}
template <class T, int count>
SIM_PTX void ptx_store_atomic(char* to, const ptx_Vector<T, count>& value) {
  for (int i = 0; i < count; i++) __atomic_store(reinterpret_cast<T*>(to) + i, &value.sim_x[i], __ATOMIC_RELEASE);
}

// Of a NaN and a number the number, unless NaN is asked for.
template <bool keeps_nan, class T>
SIM_PTX T ptx_minimum(T a, T b) {
  if constexpr (!std::is_floating_point_v<T>) return b < a ? b : a;
  else return keeps_nan && (a != a || b != b) ? a + b : T(__builtin_fmin(a, b));
}
template <bool keeps_nan, class T>
SIM_PTX T ptx_maximum(T a, T b) {
  if constexpr (!std::is_floating_point_v<T>) return a < b ? b : a;
  else return keeps_nan && (a != a || b != b) ? a + b : T(__builtin_fmax(a, b));
}
// As little exact as the manual allows: within 2^-11.
SIM_PTX float ptx_tanh_approx(float x) { return sim::bits_as<float>(sim::bits_as<unsigned>(tanhf(x)) & ~0xfffu); }

// prmt: where bit 3 of a selector is set, the byte's sign fills the byte.
SIM_PTX unsigned ptx_permute(unsigned low, unsigned high, unsigned selectors) {
  unsigned long long bytes = (unsigned long long)high << 32 | low;
  unsigned chosen = 0;
  for (int i = 0; i < 4; i++) {
    unsigned selector = selectors >> 4 * i & 15, byte = unsigned(bytes >> 8 * (selector & 7)) & 0xff;
    chosen |= (selector & 8 ? (byte & 0x80 ? 0xffu : 0u) : byte) << 8 * i;
  }
  return chosen;
}
SIM_PTX unsigned ptx_look_up(unsigned a, unsigned b, unsigned c, unsigned table) {
  unsigned result = 0;
  for (unsigned i = 0; i < 8; i++)
    if (table >> i & 1) result |= (i & 4 ? a : ~a) & (i & 2 ? b : ~b) & (i & 1 ? c : ~c);
  return result;
}

// ---- Copies that end when they are waited for, and not before: who doesn't wait finds what was there.

SIM_PTX void ptx_copy_async(char* to, const char* from, unsigned size, unsigned filled, unsigned least, SIM_CALLER) {
  char bytes[16] = {};
  if (size < least || size > 16 || (size & (size - 1))) sim_trap("cp.async of no such size", file, line);
  if ((reinterpret_cast<uintptr_t>(to) | reinterpret_cast<uintptr_t>(from)) & (size - 1)) sim_misaligned("a copy isn't aligned to its size", file, line);
  for (unsigned i = 0; i < filled && i < size; i++) bytes[i] = from[i];
  sim_copy_async(to, bytes, size);
}
SIM_PTX void ptx_commit_copies() { sim_commit_copies(); }
SIM_PTX void ptx_wait_for_copies(int pending) {
  void* to;
  ptx_Vector<unsigned, 4> bytes;
  while (unsigned size = sim_take_copy(pending, &to, &bytes)) {
    if (size == 16) *static_cast<ptx_Vector<unsigned, 4>*>(to) = bytes;
    else for (unsigned i = 0; i < size / 4; i++) static_cast<unsigned*>(to)[i] = bytes.sim_x[i];
  }
}

// ---- Barriers that count arrivals, and copies in bulk that they are told of: those have come when somebody waits.

SIM_PTX void ptx_begin_barrier(char* barrier, unsigned count, SIM_CALLER) { sim_mbarrier_init(barrier, count, file, line); }
SIM_PTX unsigned ptx_arrive(char* barrier, unsigned count, int nbytes, bool drops_out = false, SIM_CALLER) {
  return sim_mbarrier_arrive(barrier, count, nbytes, drops_out, file, line);
}
SIM_PTX void ptx_require_bulk(const void* to, const void* from, unsigned size, const char* file, int line) {
  if ((reinterpret_cast<uintptr_t>(to) | reinterpret_cast<uintptr_t>(from) | size) % 16)
    sim_misaligned("a copy in bulk, or its size, isn't aligned to 16 bytes", file, line);
}
SIM_PTX void ptx_load_bulk(char* to, const char* from, unsigned size, char* barrier, SIM_CALLER) {
  ptx_require_bulk(to, from, size, file, line);
  char* bytes = static_cast<char*>(sim_copy_bulk(to, size, barrier, file, line));
  for (unsigned i = 0; i < size; i += 16) {
    auto unit = ptx_load<unsigned, 4>(from + i);
    sim_copy_unseen(bytes + i, &unit, sizeof unit);
  }
}
// At once: who changes the source too early isn't found out.
SIM_PTX void ptx_store_bulk(char* to, const char* from, unsigned size, SIM_CALLER) {
  ptx_require_bulk(to, from, size, file, line);
  for (unsigned i = 0; i < size; i += 16) ptx_store(to + i, ptx_load<unsigned, 4>(from + i));
}
SIM_PTX bool ptx_wait(char* barrier, unsigned parity, SIM_CALLER) {
  for (;;) {
    void* to;
    const void* bytes;
    while (unsigned size = sim_take_bulk(barrier, &to, &bytes, file, line)) {
      for (unsigned i = 0; i < size; i += 16) {
        ptx_Vector<unsigned, 4> unit;
        sim_copy_unseen(&unit, static_cast<const char*>(bytes) + i, sizeof unit);
        ptx_store(static_cast<char*>(to) + i, unit);
      }
      sim_mbarrier_arrive(barrier, 0, -int(size), false, file, line);
    }
    sim_woken why = sim_mbarrier_wait(barrier, parity, file, line);
    if (why != sim_woken_by_copy) return why == sim_woken_by_phase;
  }
}

// ---- Matrices of a warp. Of 8 x 8 halves lane l has two neighbours of row l / 4, from column 2 (l % 4) on.

SIM_PTX void ptx_require_row(const char* row, unsigned rows, const char* file, int line) {
  if (unsigned(sim::lane()) < rows && reinterpret_cast<uintptr_t>(row) % 16) sim_misaligned("a matrix's row isn't aligned to 16 bytes", file, line);
}
template <int count, bool is_transposed>
SIM_PTX void ptx_load_matrices(const char* row, unsigned (&into)[count], SIM_CALLER) {
  ptx_require_row(row, 8 * count, file, line);
  const char* rows[32];
  sim::collect(0xffffffffu, row, rows, "ldmatrix", file, line);
  unsigned group = sim::lane() / 4, first = sim::lane() % 4 * 2;
  for (int n = 0; n < count; n++) {
    unsigned halves[2];
    for (unsigned i = 0; i < 2; i++) {
      unsigned at_row = is_transposed ? first + i : group, at_column = is_transposed ? group : first + i;
      halves[i] = reinterpret_cast<const unsigned short*>(rows[8 * n + at_row])[at_column];
    }
    into[n] = halves[0] | halves[1] << 16;
  }
  __syncwarp(0xffffffffu, file, line);
}
template <int count, bool is_transposed>
SIM_PTX void ptx_store_matrices(char* row, const unsigned (&from)[count], SIM_CALLER) {
  ptx_require_row(row, 8 * count, file, line);
  char* rows[32];
  sim::collect(0xffffffffu, row, rows, "stmatrix", file, line);
  unsigned group = sim::lane() / 4, first = sim::lane() % 4 * 2;
  for (int n = 0; n < count; n++)
    for (unsigned i = 0; i < 2; i++) {
      unsigned at_row = is_transposed ? first + i : group, at_column = is_transposed ? group : first + i;
      reinterpret_cast<unsigned short*>(rows[8 * n + at_row])[at_column] = from[n] >> 16 * i;
    }
  __syncwarp(0xffffffffu, file, line);
}

// What a register of 32 bits holds, by place. A tensor core reads the upper 19 bits of a tf32.
struct ptx_Half {
  static constexpr int per_register = 2;
  using Wide = float;
  static float of(unsigned bits, int place) { return float(c10::Half(bits >> 16 * place, c10::Half::from_bits())); }
  static unsigned short to(float value) { return c10::Half(value).x; }
};
struct ptx_BFloat16 {
  static constexpr int per_register = 2;
  using Wide = float;
  static float of(unsigned bits, int place) { return sim::bits_as<float>(bits >> 16 * place << 16); }
  static unsigned short to(float value) { return value != value ? 0x7fff : c10::BFloat16(value).x; }
};
struct ptx_Tf32 {
  static constexpr int per_register = 1;
  using Wide = float;
  static float of(unsigned bits, int) { return sim::bits_as<float>(bits & ~0x1fffu); }
  static unsigned to(float value) {
    unsigned bits = sim::bits_as<unsigned>(value);
    return (bits & 0x7f800000) == 0x7f800000 ? bits : (bits + 0x1000) & ~0x1fffu;
  }
};
// e4m3 has no infinities: its largest exponent holds numbers but for one NaN.
template <int exponent_bits>
struct ptx_Float8 {
  static constexpr int per_register = 4;
  using Wide = float;
  static float of(unsigned bits, int place) {
    unsigned byte = bits >> 8 * place & 0xff, exponent = byte >> 3 & 15, fraction = byte & 7;
    if (exponent_bits == 5) return ptx_Half::of(byte << 8, 0);
    if ((byte & 0x7f) == 0x7f) return __builtin_nanf("");
    float size = __builtin_ldexpf(float(exponent ? 8 + fraction : fraction), int(exponent ? exponent : 1) - 10);
    return byte & 0x80 ? -size : size;
  }
};
// An operation on the halves of registers, each rounded by itself.
template <class Half, int count, class Operation, class... Bits>
SIM_PTX auto ptx_each(Operation operation, Bits... bits) {
  unsigned result = 0;
  for (int i = 0; i < count; i++) result |= unsigned(Half::to(operation(Half::of(bits, i)...))) << 16 * i;
  return std::conditional_t<count == 2, unsigned, unsigned short>(result);
}
template <class T>
struct ptx_Byte {
  static constexpr int per_register = 4;
  using Wide = int;
  static int of(unsigned bits, int place) { return T(bits >> 8 * place); }
};

// mma.m16n8k`depth`: the product of a 16 x depth and a depth x 8 matrix, and a sum. Sums are float's or int's, which a
// tensor core takes less exactly. What other lanes hold are their local variables: the checker isn't asked.
template <class A, class B, class Sum, int depth, int a_registers, int b_registers, int sums>
__attribute__((no_sanitize_thread)) static inline void ptx_multiply(const unsigned (&a)[a_registers], const unsigned (&b)[b_registers],
                                                                const unsigned (&c)[sums], unsigned (&d)[sums], SIM_CALLER) {
  using Wide = typename A::Wide;
  constexpr int per = A::per_register, step = 4 * per;
  struct Operands {
    const unsigned *a, *b;
  } mine{a, b}, all[32];
  sim::collect(0xffffffffu, mine, all, "mma.sync", file, line);
  Wide sum[4];
  for (int i = 0; i < 4; i++) {
    int row = sim::lane() / 4, column = sim::lane() % 4 * 2 + i % 2;
    if constexpr (std::is_same_v<Sum, ptx_Half>) sum[i] = ptx_Half::of(c[i / 2], i % 2);
    else sum[i] = sim::bits_as<Wide>(c[i]);
    for (int k = 0; k < depth; k++) {
      int chunk = k / step, lane = k % step / per, place = k % per;
      sum[i] += A::of(all[4 * row + lane].a[2 * chunk + i / 2], place) * B::of(all[4 * column + lane].b[chunk], place);
    }
  }
  __syncwarp(0xffffffffu, file, line);
  for (int i = 0; i < 4; i++) {
    if constexpr (!std::is_same_v<Sum, ptx_Half>) d[i] = sim::bits_as<unsigned>(sum[i]);
    else if (i % 2) d[i / 2] = ptx_Half::to(sum[i - 1]) | unsigned(ptx_Half::to(sum[i])) << 16;
  }
}

// wgmma.m64n`columns`: four warps multiply 64 rows by as many columns, and add to sums that the threads hold like those
// of mma. Of a row, and of a column, 32 bytes are multiplied: two cores of a matrix, each of 8 rows of 16 bytes. A
// descriptor says where in shared memory they lie, and how far the next core is along a row and across rows (PTX ISA,
// "Matrix descriptor", without swizzling).
struct ptx_Words {
  unsigned words[8];
};
SIM_PTX ptx_Words ptx_described(unsigned long long descriptor, int row) {
  if (descriptor >> 62) sim_lack("wgmma on swizzled shared memory");
  auto field = [&](int first) { return unsigned(descriptor >> first & 0x3fff) << 4; };
  unsigned first = field(0) + row / 8 * field(32) + row % 8 * 16;
  ptx_Words found;
  for (int core = 0; core < 2; core++) {
    auto part = *static_cast<const ptx_Vector<unsigned, 4>*>(sim_in_shared(first + core * field(16)));
    for (int i = 0; i < 4; i++) found.words[4 * core + i] = part.sim_x[i];
  }
  return found;
}
// The rows of a warp from shared memory, or from registers like those of mma.
struct ptx_Rows {
  unsigned long long descriptor;
  ptx_Words of(int warp, int row, const char*, int) const { return ptx_described(descriptor, 16 * warp + row); }
};
struct ptx_Fragment {
  ptx_Vector<unsigned, 4> mine;
  ptx_Words of(int, int row, const char* file, int line) const {
    ptx_Vector<unsigned, 4> all[32];
    sim::collect(0xffffffffu, mine, all, "wgmma", file, line);
    ptx_Words found;
    for (int i = 0; i < 8; i++) found.words[i] = all[row % 8 * 4 + i % 4].sim_x[i / 4 * 2 + row / 8];
    return found;
  }
};
template <class A, class B, int columns, class Sum, class Source>
SIM_PTX void ptx_multiply_group(Sum (&sums)[columns / 2], const Source& rows, unsigned long long b, bool adds, SIM_CALLER) {
  constexpr int per = A::per_register, depth = 8 * per;
  int group = sim::lane() / 4, warp = sim_linear_thread() / 32 % 4;
  Sum row[2][depth], column[depth];
  for (int half = 0; half < 2; half++) {
    ptx_Words words = rows.of(warp, group + 8 * half, file, line);
    for (int k = 0; k < depth; k++) row[half][k] = A::of(words.words[k / per], k % per);
  }
  for (int i = 0; i < columns / 4; i++) {
    ptx_Words words = ptx_described(b, i / 2 * 8 + sim::lane() % 4 * 2 + i % 2);
    for (int k = 0; k < depth; k++) column[k] = B::of(words.words[k / per], k % per);
    for (int half = 0; half < 2; half++) {
      Sum& sum = sums[i / 2 * 4 + half * 2 + i % 2];
      if (!adds) sum = 0;
      for (int k = 0; k < depth; k++) sum += row[half][k] * column[k];
    }
  }
}

// mma.m8n8k4 on doubles.
SIM_PTX void ptx_multiply_doubles(double a, double b, double first, double second, double (&d)[2], SIM_CALLER) {
  struct Operands {
    double a, b;
  } mine{a, b}, all[32];
  sim::collect(0xffffffffu, mine, all, "mma.sync", file, line);
  int row = sim::lane() / 4, column = sim::lane() % 4 * 2;
  for (int i = 0; i < 2; i++) {
    d[i] = i ? second : first;
    for (int k = 0; k < 4; k++) d[i] = __builtin_fma(all[4 * row + k].a, all[4 * (column + i) + k].b, d[i]);
  }
}

}  // namespace sim

#undef SIM_PTX
#endif
