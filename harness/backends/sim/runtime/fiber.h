// A stack that can be left and come back to.
#pragma once
#include <cstddef>

#include "sim/abi.h"

namespace sim {

struct Fiber {
  Fiber();
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

  void* stack_pointer = nullptr;
  unsigned thread = 0;  // linear index of the CUDA thread that it runs
  uint3 index{};

 private:
  char* mapping_;
};

// Saves the callee-saved registers and the stack pointer, then continues at `load`.
extern "C" void sim_switch_stack(void** save, void* load);

}  // namespace sim
