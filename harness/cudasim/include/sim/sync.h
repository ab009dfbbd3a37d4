// Barriers, votes and shuffles.
#pragma once
#include "sim/abi.h"

#define __syncthreads() sim_syncthreads(__FILE__, __LINE__)
#define __syncthreads_count(predicate) sim_syncthreads_vote(sim_vote_count, (predicate), __FILE__, __LINE__)
#define __syncthreads_and(predicate) sim_syncthreads_vote(sim_vote_and, (predicate), __FILE__, __LINE__)
#define __syncthreads_or(predicate) sim_syncthreads_vote(sim_vote_or, (predicate), __FILE__, __LINE__)
#define __trap() sim_trap("__trap()", __FILE__, __LINE__)

// Default arguments are evaluated at the call: they name the user's line.
#define SIM_CALLER const char *file = __builtin_FILE(), int line = __builtin_LINE()

// Addresses of shared memory are offsets into the block's, as a GPU's are into a window.
static inline size_t __cvta_generic_to_shared(const void* pointer) {
  return static_cast<const char*>(pointer) - static_cast<const char*>(sim_shared_window());
}
static inline void* __cvta_shared_to_generic(size_t offset) {
  return static_cast<char*>(sim_shared_window()) + offset;
}

static inline size_t __cvta_generic_to_global(const void* pointer) { return reinterpret_cast<size_t>(pointer); }
static inline void* __cvta_global_to_generic(size_t address) { return reinterpret_cast<void*>(address); }

static inline void __threadfence() {}
static inline void __threadfence_block() {}
static inline void __threadfence_system() {}
static inline void __nanosleep(unsigned) { sim_give_turn(); }
static inline long long clock64() { return (long long)__builtin_ia32_rdtsc(); }

static inline void __syncwarp(unsigned mask = 0xffffffffu, SIM_CALLER) {
  char none = 0, out;
  sim_warp_exchange(mask, &none, &out, -1, sizeof none, "__syncwarp", file, line);
}

static inline unsigned __activemask(SIM_CALLER) { return sim_active_mask(file, line); }

namespace sim {

static inline int lane() { return int(sim_linear_thread() & 31); }

template <class T>
static inline T exchange(unsigned mask, T value, int source, const char* what, const char* file, int line) {
  static_assert(sizeof(T) <= 16, "a shuffle moves at most 16 bytes");
  T out;
  sim_warp_exchange(mask, &value, &out, source, sizeof(T), what, file, line);
  return out;
}

// A source outside the lane's own section of `width` lanes means: keep your own value.
static inline int within_section(int source, int width) {
  int first = lane() & ~(width - 1);
  return source < first || source >= first + width ? -1 : source;
}

static inline int in_section(int source, int width) { return (lane() & ~(width - 1)) + (source & (width - 1)); }
// Lower sections may be read across the border of `width`, higher ones may not.
static inline int not_above_section(int source, int width) {
  return source >= (lane() & ~(width - 1)) + width ? -1 : source;
}

// What the lanes of `mask` that came hold, by lane; those lanes are the result.
template <class T>
static inline unsigned collect(unsigned mask, T value, T (&values)[32], const char* what, const char* file, int line) {
  static_assert(sizeof(T) <= 16, "lanes hand each other at most 16 bytes");
  return sim_warp_collect(mask, &value, values, sizeof value, what, file, line);
}

}  // namespace sim

// For the types that CUDA shuffles; smaller integers become int, as there.
#define SIM_SHUFFLES(T)                                                                                           \
  static inline T __shfl_sync(unsigned mask, T value, int source, int width = 32, SIM_CALLER) {                   \
    return sim::exchange(mask, value, sim::in_section(source, width), "__shfl_sync", file, line);                 \
  }                                                                                                               \
  static inline T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32, SIM_CALLER) {            \
    return sim::exchange(mask, value, sim::within_section(sim::lane() - int(delta), width), "__shfl_up_sync",     \
                         file, line);                                                                             \
  }                                                                                                               \
  static inline T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32, SIM_CALLER) {          \
    return sim::exchange(mask, value, sim::within_section(sim::lane() + int(delta), width), "__shfl_down_sync",   \
                         file, line);                                                                             \
  }                                                                                                               \
  static inline T __shfl_xor_sync(unsigned mask, T value, int lane_mask, int width = 32, SIM_CALLER) {            \
    return sim::exchange(mask, value, sim::not_above_section(sim::lane() ^ lane_mask, width), "__shfl_xor_sync",  \
                         file, line);                                                                             \
  }
SIM_SHUFFLES(int)
SIM_SHUFFLES(unsigned)
SIM_SHUFFLES(long)
SIM_SHUFFLES(unsigned long)
SIM_SHUFFLES(long long)
SIM_SHUFFLES(unsigned long long)
SIM_SHUFFLES(float)
SIM_SHUFFLES(double)

static inline unsigned __ballot_sync(unsigned mask, int predicate, SIM_CALLER) {
  return sim_warp_ballot(mask, predicate, "__ballot_sync", file, line);
}
static inline int __any_sync(unsigned mask, int predicate, SIM_CALLER) {
  return sim_warp_ballot(mask, predicate, "__any_sync", file, line) != 0;
}
static inline int __all_sync(unsigned mask, int predicate, SIM_CALLER) {
  return sim_warp_ballot(mask, !predicate, "__all_sync", file, line) == 0;
}

#define SIM_MATCHES(T)                                                                                 \
  static inline unsigned __match_any_sync(unsigned mask, T value, SIM_CALLER) {                        \
    return sim_warp_match(mask, &value, sizeof value, file, line);                                     \
  }                                                                                                    \
  static inline unsigned __match_all_sync(unsigned mask, T value, int* is_same, SIM_CALLER) {          \
    *is_same = sim_warp_match(mask, &value, sizeof value, file, line) == mask;                         \
    return *is_same ? mask : 0;                                                                        \
  }
SIM_MATCHES(int)
SIM_MATCHES(unsigned)
SIM_MATCHES(long)
SIM_MATCHES(unsigned long)
SIM_MATCHES(long long)
SIM_MATCHES(unsigned long long)
SIM_MATCHES(float)
SIM_MATCHES(double)
#undef SIM_MATCHES

#define SIM_REDUCE(name, T, expression)                                                        \
  static inline T __reduce_##name##_sync(unsigned mask, T value, SIM_CALLER) {                 \
    T values[32], a = value;                                                                   \
    unsigned left = sim::collect(mask, value, values, "__reduce_" #name "_sync", file, line);  \
    left &= ~(1u << sim::lane());                                                              \
    for (; left; left &= left - 1) {                                                           \
      T b = values[__builtin_ctz(left)];                                                       \
      a = expression;                                                                          \
    }                                                                                          \
    return a;                                                                                  \
  }
SIM_REDUCE(add, int, a + b)
SIM_REDUCE(add, unsigned, a + b)
SIM_REDUCE(max, int, a > b ? a : b)
SIM_REDUCE(max, unsigned, a > b ? a : b)
SIM_REDUCE(min, int, a < b ? a : b)
SIM_REDUCE(min, unsigned, a < b ? a : b)
SIM_REDUCE(and, unsigned, a & b)
SIM_REDUCE(or, unsigned, a | b)
SIM_REDUCE(xor, unsigned, a ^ b)
#undef SIM_REDUCE
