// A stack that can be left and come back to.
#pragma once
#include <cstddef>
#include <cstdint>

#include "sim/abi.h"

namespace sim {

constexpr size_t stack_nbytes = 768 * 1024;  // a CUDA thread has at most 512 KiB of local memory

struct Fiber {
  explicit Fiber(bool is_guarded);
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // Makes the next switch to this fiber start `entry` on an empty stack.
  void reset(void (*entry)());
  bool guards(const void* address) const;
  // The stacks of a block are more than the first cache holds.
  void prefetch() const {
    for (int line = 0; line < 4; line++) __builtin_prefetch(static_cast<char*>(stack_pointer) + 64 * line);
  }
  const char* lowest() const { return stack_; }
  const char* highest() const { return stack_ + stack_nbytes; }
  bool holds(uintptr_t address) const { return address - reinterpret_cast<uintptr_t>(stack_) < stack_nbytes; }

  void* stack_pointer = nullptr;
  unsigned thread = 0;  // linear index of the CUDA thread that it runs
  uint3 index{};

 private:
  char* mapping_;
  const char* stack_;
};

// Saves the callee-saved registers and the stack pointer, then continues at `load`.
extern "C" void sim_switch_stack(void** save, void* load);

}  // namespace sim
