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

#undef SIM_ATOMIC_INTEGER
#undef SIM_ATOMIC_CAS
#undef SIM_ATOMIC_CAS_SCOPE
#undef SIM_ATOMIC_VECTOR
