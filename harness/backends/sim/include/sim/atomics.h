// Atomic operations, as one compare-and-swap loop.
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

#define SIM_ATOMIC(name, T, expression) \
  static inline T name(T* address, T value) { \
    return sim::read_modify_write(address, [value](T old) -> T { return expression; }); \
  }
#define SIM_ATOMIC_INTEGER(T)                             \
  SIM_ATOMIC(atomicSub, T, old - value)                   \
  SIM_ATOMIC(atomicMax, T, old > value ? old : value)     \
  SIM_ATOMIC(atomicMin, T, old < value ? old : value)     \
  SIM_ATOMIC(atomicAnd, T, old & value)                   \
  SIM_ATOMIC(atomicOr, T, old | value)                    \
  SIM_ATOMIC(atomicXor, T, old ^ value)
#define SIM_ATOMIC_CAS(T)                                                                                     \
  static inline T atomicCAS(T* address, T expected, T value) {                                                \
    return sim::read_modify_write(address, [expected, value](T old) { return old == expected ? value : old; }); \
  }

SIM_ATOMIC(atomicAdd, int, old + value)
SIM_ATOMIC(atomicAdd, unsigned, old + value)
SIM_ATOMIC(atomicAdd, unsigned long long, old + value)
SIM_ATOMIC(atomicAdd, float, old + value)
SIM_ATOMIC(atomicAdd, double, old + value)
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
SIM_ATOMIC_CAS(long long)
SIM_ATOMIC_CAS(unsigned long long)
SIM_ATOMIC_CAS(unsigned short)

// The simulator runs one grid at a time, so system and block scope are the same as the device's.
#define atomicAdd_block atomicAdd
#define atomicAdd_system atomicAdd
#define atomicMax_block atomicMax
#define atomicMin_block atomicMin
#define atomicCAS_block atomicCAS
#define atomicExch_block atomicExch

#undef SIM_ATOMIC
#undef SIM_ATOMIC_INTEGER
#undef SIM_ATOMIC_CAS
