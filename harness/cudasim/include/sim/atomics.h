// Atomic operations, as one compare-and-swap loop; the types are those that CUDA has each of them for.
#pragma once
#include "sim/abi.h"

namespace sim {

template <class T, class Change>
static inline T read_modify_write(T* address, Change change) {
  sim_before_atomic();
  T old, next;
  __atomic_load(address, &old, __ATOMIC_RELAXED);
  do {
    next = change(old);
  } while (!__atomic_compare_exchange(address, &old, &next, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
  return old;
}

}  // namespace sim

// The simulator runs one grid at a time, so that system and block scope are the same as the device's.
#define SIM_ATOMIC_SCOPE(name, T, expression)                                              \
  static inline T name(T* address, T value) {                                              \
    return sim::read_modify_write(address, [value](T old) -> T { return expression; });    \
  }
#define SIM_ATOMIC(name, T, expression)              \
  SIM_ATOMIC_SCOPE(name, T, expression)              \
  SIM_ATOMIC_SCOPE(name##_block, T, expression)      \
  SIM_ATOMIC_SCOPE(name##_system, T, expression)
#define SIM_ATOMIC_INTEGER(T)                             \
  SIM_ATOMIC(atomicMax, T, old > value ? old : value)     \
  SIM_ATOMIC(atomicMin, T, old < value ? old : value)     \
  SIM_ATOMIC(atomicAnd, T, old & value)                   \
  SIM_ATOMIC(atomicOr, T, old | value)                    \
  SIM_ATOMIC(atomicXor, T, old ^ value)
#define SIM_ATOMIC_CAS_SCOPE(name, T)                                                                         \
  static inline T name(T* address, T expected, T value) {                                                     \
    return sim::read_modify_write(address, [expected, value](T old) { return old == expected ? value : old; }); \
  }
#define SIM_ATOMIC_CAS(T)                    \
  SIM_ATOMIC_CAS_SCOPE(atomicCAS, T)         \
  SIM_ATOMIC_CAS_SCOPE(atomicCAS_block, T)   \
  SIM_ATOMIC_CAS_SCOPE(atomicCAS_system, T)

SIM_ATOMIC(atomicAdd, int, old + value)
SIM_ATOMIC(atomicAdd, unsigned, old + value)
SIM_ATOMIC(atomicAdd, unsigned long long, old + value)
SIM_ATOMIC(atomicAdd, float, old + value)
SIM_ATOMIC(atomicAdd, double, old + value)
SIM_ATOMIC(atomicSub, int, old - value)
SIM_ATOMIC(atomicSub, unsigned, old - value)
SIM_ATOMIC(atomicExch, int, value)
SIM_ATOMIC(atomicExch, unsigned, value)
SIM_ATOMIC(atomicExch, unsigned long long, value)
SIM_ATOMIC(atomicExch, float, value)
SIM_ATOMIC(atomicInc, unsigned, old >= value ? 0u : old + 1)
SIM_ATOMIC(atomicDec, unsigned, old == 0 || old > value ? value : old - 1)
SIM_ATOMIC_INTEGER(int)
SIM_ATOMIC_INTEGER(unsigned)
SIM_ATOMIC_INTEGER(long long)
SIM_ATOMIC_INTEGER(unsigned long long)
SIM_ATOMIC_CAS(int)
SIM_ATOMIC_CAS(unsigned)
SIM_ATOMIC_CAS(unsigned long long)
SIM_ATOMIC_CAS(unsigned short)

// Each component is added atomically, not the vector.
#define SIM_ATOMIC_VECTOR(name)                                                        \
  static inline float2 name(float2* address, float2 value) {                           \
    return {name(&address->x, value.x), name(&address->y, value.y)};                   \
  }                                                                                    \
  static inline float4 name(float4* address, float4 value) {                           \
    return {name(&address->x, value.x), name(&address->y, value.y),                    \
            name(&address->z, value.z), name(&address->w, value.w)};                   \
  }
SIM_ATOMIC_VECTOR(atomicAdd)
SIM_ATOMIC_VECTOR(atomicAdd_block)
SIM_ATOMIC_VECTOR(atomicAdd_system)

// Of 16 bytes: whatever type may be copied by its bytes, which are also what is compared (sm_90).
namespace sim {

template <class T>
using if_wide = std::enable_if_t<sizeof(T) == 16 && alignof(T) >= 16 && std::is_trivially_copyable<T>::value, T>;

template <class To, class From>
static inline To same_bytes(const From& from) {
  To to;
  __builtin_memcpy(&to, &from, sizeof to);
  return to;
}

// The processor's own instruction, for which __atomic_compare_exchange would need a library.
template <class T>
__attribute__((target("cx16"))) static inline T swap_wide_if(T* address, T expected, T value) {
  using Bits = unsigned __int128;
  return same_bytes<T>(__sync_val_compare_and_swap(reinterpret_cast<Bits*>(address), same_bytes<Bits>(expected),
                                                   same_bytes<Bits>(value)));
}

template <class T>
static inline T swap_wide(T* address, T value) {
  sim_before_atomic();
  T seen = value, old;
  do {
    old = seen;
    seen = swap_wide_if(address, old, value);
  } while (__builtin_memcmp(&seen, &old, sizeof old));
  return old;
}

}  // namespace sim

#define SIM_ATOMIC_WIDE(suffix)                                                 \
  template <class T>                                                            \
  static inline sim::if_wide<T> atomicExch##suffix(T* address, T value) {       \
    return sim::swap_wide(address, value);                                      \
  }                                                                             \
  template <class T>                                                            \
  static inline sim::if_wide<T> atomicCAS##suffix(T* address, T expected, T value) { \
    sim_before_atomic();                                                        \
    return sim::swap_wide_if(address, expected, value);                         \
  }
SIM_ATOMIC_WIDE()
SIM_ATOMIC_WIDE(_block)
SIM_ATOMIC_WIDE(_system)

#undef SIM_ATOMIC_WIDE
#undef SIM_ATOMIC_INTEGER
#undef SIM_ATOMIC_CAS
#undef SIM_ATOMIC_CAS_SCOPE
#undef SIM_ATOMIC_VECTOR
