// What g++ calls from code that it instruments for the thread and undefined-behaviour sanitizers. Neither of their
// libraries is there: each call goes to the checker, if it comes from a kernel.
#define HARNESS_SIM_DEVICE 1
#include <algorithm>
#include <cstring>

#include "checker.h"

namespace {

using sim::Access;
using sim::Checker;
using sim::Site;

enum Kind : unsigned { read = 1, write = 2, atomic = 4, is_volatile = 8 };

bool in_kernel() { return sim::worker && sim::worker->current && sim::worker->checker; }

inline void take(const volatile void* pointer, size_t nbytes, unsigned kind, const Site& site) {
  sim::Worker* worker = sim::worker;
  if (!worker || !worker->current || !worker->checker) return;
  auto address = reinterpret_cast<uintptr_t>(pointer);
  if (worker->current->holds(address) || worker->is_index(address) || !nbytes) return;
  if (worker->checker->is_launch_stack(address)) return;
  worker->checker->access(
      {address, nbytes, (kind & read) != 0, (kind & write) != 0, (kind & atomic) != 0, (kind & is_volatile) != 0, site});
}

// Others run before a thread looks again, or one that waits for them by reading would wait for ever.
void take_volatile_read(void* pointer, size_t nbytes, const Site& site) {
  take(pointer, nbytes, read | is_volatile, site);
  if (in_kernel()) sim::worker->yield();
}

void take_atomic(const volatile void* pointer, size_t nbytes, unsigned kind, const Site& site) {
  take(pointer, nbytes, kind | atomic, site);
  if (in_kernel()) sim::worker->yield();
}

// ---- The layouts that g++ hands to the undefined-behaviour sanitizer, see its ubsan.c.

struct Location {
  const char* file;
  uint32_t line, column;
};

struct Type {
  uint16_t kind, info;  // of an integer: the logarithm of its bits above the lowest bit, which is set if it is signed
  char name[1];
};

struct Mismatch {
  Location location;
  const Type* type;
  unsigned char log_alignment, access;
};

struct Bounds {
  Location location;
  const Type *array, *index;
};

struct Overflow {
  Location location;
  const Type* type;
};

long long value_of(const Type* type, uintptr_t value) {
  unsigned bits = 1u << (type->info >> 1);
  if (bits > 64) return *reinterpret_cast<long long*>(value);
  if (bits == 64) return static_cast<long long>(value);
  auto shift = 64 - bits;
  bool is_signed = type->info & 1;
  return is_signed ? static_cast<long long>(value << shift) >> shift : static_cast<long long>(value << shift >> shift);
}

void take_overflow(const Overflow* data, const char* operation, uintptr_t left, uintptr_t right, const Site& site) {
  if (!in_kernel()) return;
  sim::worker->checker->report_at({data->location.file, int(data->location.line)}, "signed-overflow",
                                  std::to_string(value_of(data->type, left)) + operation +
                                      std::to_string(value_of(data->type, right)) + " doesn't fit into " +
                                      data->type->name,
                                  site);
}

}  // namespace

extern "C" {
#pragma GCC visibility push(default)

void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_vptr_update(void**, void*) {}
void __tsan_vptr_read(void**) {}

#define SIM_ACCESSES(n)                                                                             \
  void __tsan_read##n(void* p) { take(p, n, read, SIM_CALLER_SITE()); }                             \
  void __tsan_write##n(void* p) { take(p, n, write, SIM_CALLER_SITE()); }                           \
  void __tsan_unaligned_read##n(void* p) { take(p, n, read, SIM_CALLER_SITE()); }                   \
  void __tsan_unaligned_write##n(void* p) { take(p, n, write, SIM_CALLER_SITE()); }                 \
  void __tsan_volatile_read##n(void* p) { take_volatile_read(p, n, SIM_CALLER_SITE()); }            \
  void __tsan_volatile_write##n(void* p) { take(p, n, write | is_volatile, SIM_CALLER_SITE()); }    \
  void __tsan_unaligned_volatile_read##n(void* p) { take_volatile_read(p, n, SIM_CALLER_SITE()); }  \
  void __tsan_unaligned_volatile_write##n(void* p) { take(p, n, write | is_volatile, SIM_CALLER_SITE()); }
SIM_ACCESSES(1)
SIM_ACCESSES(2)
SIM_ACCESSES(4)
SIM_ACCESSES(8)
SIM_ACCESSES(16)
void __tsan_read_range(void* p, size_t nbytes) { take(p, nbytes, read, SIM_CALLER_SITE()); }
void __tsan_write_range(void* p, size_t nbytes) { take(p, nbytes, write, SIM_CALLER_SITE()); }

// Whatever order was asked for: one thread runs at a time.
#define SIM_ATOMIC_CHANGE(bits, T, name)                                  \
  T __tsan_atomic##bits##_##name(volatile T* p, T value, int) {           \
    take_atomic(p, sizeof(T), read | write, SIM_CALLER_SITE());           \
    return __atomic_##name(p, value, __ATOMIC_SEQ_CST);                   \
  }
#define SIM_ATOMIC_EXCHANGE(bits, T, strength)                                                            \
  int __tsan_atomic##bits##_compare_exchange_##strength(volatile T* p, T* expected, T value, int, int) {  \
    take_atomic(p, sizeof(T), read | write, SIM_CALLER_SITE());                                           \
    return __atomic_compare_exchange_n(p, expected, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);    \
  }
#define SIM_ATOMICS(bits, T)                                              \
  T __tsan_atomic##bits##_load(const volatile T* p, int) {                \
    take_atomic(p, sizeof(T), read, SIM_CALLER_SITE());                   \
    return __atomic_load_n(p, __ATOMIC_SEQ_CST);                          \
  }                                                                       \
  void __tsan_atomic##bits##_store(volatile T* p, T value, int) {         \
    take_atomic(p, sizeof(T), write, SIM_CALLER_SITE());                  \
    __atomic_store_n(p, value, __ATOMIC_SEQ_CST);                         \
  }                                                                       \
  T __tsan_atomic##bits##_exchange(volatile T* p, T value, int) {         \
    take_atomic(p, sizeof(T), read | write, SIM_CALLER_SITE());           \
    return __atomic_exchange_n(p, value, __ATOMIC_SEQ_CST);               \
  }                                                                       \
  SIM_ATOMIC_CHANGE(bits, T, fetch_add)                                   \
  SIM_ATOMIC_CHANGE(bits, T, fetch_sub)                                   \
  SIM_ATOMIC_CHANGE(bits, T, fetch_and)                                   \
  SIM_ATOMIC_CHANGE(bits, T, fetch_or)                                    \
  SIM_ATOMIC_CHANGE(bits, T, fetch_xor)                                   \
  SIM_ATOMIC_CHANGE(bits, T, fetch_nand)                                  \
  SIM_ATOMIC_EXCHANGE(bits, T, strong)                                    \
  SIM_ATOMIC_EXCHANGE(bits, T, weak)
SIM_ATOMICS(8, uint8_t)
SIM_ATOMICS(16, uint16_t)
SIM_ATOMICS(32, uint32_t)
SIM_ATOMICS(64, uint64_t)
// All that CUDA has of this width.
__attribute__((target("cx16"))) int __tsan_atomic128_compare_exchange_strong(
    volatile unsigned __int128* p, unsigned __int128* expected, unsigned __int128 value, int, int) {
  take_atomic(p, 16, read | write, SIM_CALLER_SITE());
  unsigned __int128 wanted = *expected;
  *expected = __sync_val_compare_and_swap(p, wanted, value);
  return *expected == wanted;
}
void __tsan_atomic_thread_fence(int) {}
void __tsan_atomic_signal_fence(int) {}

// The C library's, of which instrumented code knows these names only.
void* sim_checked_memmove(void* to, const void* from, size_t nbytes) {
  Site site = SIM_CALLER_SITE();
  take(from, nbytes, read, site);
  take(to, nbytes, write, site);
  if (!in_kernel()) sim_mark_written(to, nbytes);
  return memmove(to, from, nbytes);
}
void* sim_checked_memcpy(void* to, const void* from, size_t nbytes) {
  Site site = SIM_CALLER_SITE();
  take(from, nbytes, read, site);
  take(to, nbytes, write, site);
  if (!in_kernel()) sim_mark_written(to, nbytes);
  return memmove(to, from, nbytes);
}
void* sim_checked_memset(void* to, int byte, size_t nbytes) {
  take(to, nbytes, write, SIM_CALLER_SITE());
  if (!in_kernel()) sim_mark_written(to, nbytes);
  return memset(to, byte, nbytes);
}

// A local array's place is the compiler's choice: on a GPU it is registers, or aligned for what reads it.
void __ubsan_handle_type_mismatch_v1(Mismatch* data, uintptr_t address) {
  if (!in_kernel() || sim::worker->current->holds(address)) return;
  Checker& checker = *sim::worker->checker;
  size_t alignment = size_t(1) << data->log_alignment;
  Site site = SIM_CALLER_SITE();
  checker.fault_at({data->location.file, int(data->location.line)}, "misaligned-address",
                   std::string(data->type->name) + " must lie at a multiple of " + std::to_string(alignment) +
                       " bytes, and " + checker.describe(address, 1) + " is at " +
                       std::to_string(address % alignment) + " modulo " + std::to_string(alignment),
                   site, cudaErrorMisalignedAddress);
}
void __ubsan_handle_out_of_bounds(Bounds* data, uintptr_t index) {
  if (!in_kernel()) return;
  sim::worker->checker->report_at({data->location.file, int(data->location.line)}, "array-index-out-of-bounds",
                                  "index " + std::to_string(value_of(data->index, index)) + " of an array of type " +
                                      data->array->name,
                                  SIM_CALLER_SITE());
}
void __ubsan_handle_add_overflow(Overflow* data, uintptr_t left, uintptr_t right) {
  take_overflow(data, " + ", left, right, SIM_CALLER_SITE());
}
void __ubsan_handle_sub_overflow(Overflow* data, uintptr_t left, uintptr_t right) {
  take_overflow(data, " - ", left, right, SIM_CALLER_SITE());
}
void __ubsan_handle_mul_overflow(Overflow* data, uintptr_t left, uintptr_t right) {
  take_overflow(data, " * ", left, right, SIM_CALLER_SITE());
}
void __ubsan_handle_divrem_overflow(Overflow* data, uintptr_t left, uintptr_t right) {
  take_overflow(data, " / ", left, right, SIM_CALLER_SITE());
}
void __ubsan_handle_negate_overflow(Overflow* data, uintptr_t value) {
  take_overflow(data, " - ", 0, value, SIM_CALLER_SITE());
}
#pragma GCC visibility pop
}
