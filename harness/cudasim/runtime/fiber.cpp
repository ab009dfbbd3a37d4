#include "fiber.h"

#include <sys/mman.h>

#include <new>

#include "memory.h"

#if !defined(__x86_64__)
#error "the simulator switches stacks on x86-64 only"
#endif

// swapcontext makes two system calls for the signal mask and is 30 times as slow.
asm(R"(
.text
.globl sim_switch_stack
.type sim_switch_stack,@function
sim_switch_stack:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp,(%rdi)
  movq %rsi,%rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size sim_switch_stack,.-sim_switch_stack
)");

namespace sim {
namespace {
constexpr int saved_registers = 6;
constexpr size_t cache_line_nbytes = 64, colours = 61;
// As large as any frame that fits the stack, or one could reach over it. The page more keeps stacks from lying at
// distances of a power of two, which would share the sets of the second cache.
constexpr size_t guard_nbytes = stack_nbytes + page_size, mapped_nbytes = guard_nbytes + stack_nbytes;
}  // namespace

Fiber::Fiber(bool is_guarded) {
  void* mapping = mmap(nullptr, mapped_nbytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping == MAP_FAILED) throw std::bad_alloc();
  if (is_guarded) mprotect(mapping, guard_nbytes, PROT_NONE);
  mapping_ = static_cast<char*>(mapping);
  stack_ = mapping_ + guard_nbytes;
}

Fiber::~Fiber() { munmap(mapping_, mapped_nbytes); }

void Fiber::reset(void (*entry)()) {
  // Stacks lie at equal distances: with equal tops all would share a few sets of the cache, and each switch would miss.
  size_t colour = reinterpret_cast<uintptr_t>(mapping_) / mapped_nbytes % colours * cache_line_nbytes;
  auto top = reinterpret_cast<void**>(mapping_ + mapped_nbytes - colour);
  *--top = nullptr;  // keeps the stack aligned as after a call
  *--top = reinterpret_cast<void*>(entry);
  for (int i = 0; i < saved_registers; i++) *--top = nullptr;
  stack_pointer = top;
}

bool Fiber::guards(const void* address) const {
  return address >= mapping_ && address < stack_;
}

}  // namespace sim
