#include "faults.h"

#include <ucontext.h>

#include <cstdio>
#include <cstdlib>

#include "memory.h"
#include "worker.h"

namespace sim {
namespace {

constexpr size_t signal_stack_nbytes = 64 * 1024;
constexpr int caught_signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};
struct sigaction previous[NSIG];

struct Fault {
  const char* kind;
  std::string detail;
  cudaError_t error;
};

Fault classify(int signal, const siginfo_t& info) {
  if (signal == SIGFPE)
    return {"integer-divide-by-zero", "integer division by zero, whose result a GPU leaves undefined",
            cudaErrorLaunchFailure};
  if (signal == SIGILL)  // from the compiler's alignment checks
    return {"misaligned-address", "an access is not aligned to the size of its type", cudaErrorMisalignedAddress};
  if (worker->current->guards(info.si_addr))
    return {"stack-overflow", "the thread uses more local memory than a GPU has for it (512 KiB)",
            cudaErrorLaunchFailure};
  if (worker->guards_shared(info.si_addr))
    return {"shared-out-of-bounds", "an access outside the shared memory of the block", cudaErrorIllegalAddress};
  return {"illegal-address", describe_address(reinterpret_cast<uintptr_t>(info.si_addr)), cudaErrorIllegalAddress};
}

void unblock(int signal) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, signal);
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

void on_fault(int signal, siginfo_t* info, void* context) {
  if (!worker || !worker->current) {  // not a kernel's: whoever was there before decides
    sigaction(signal, &previous[signal], nullptr);
    return;
  }
  void* instruction = reinterpret_cast<void*>(static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP]);
  Fault fault = classify(signal, *info);
  report(fault.kind, fault.detail, {"", 0, instruction});
  raise_sticky(fault.error);
  unblock(signal);
  worker->abandon_block();
}

}  // namespace

FaultHandlers::FaultHandlers() {
  struct sigaction action {};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  for (int signal : caught_signals) sigaction(signal, &action, &previous[signal]);
}

FaultHandlers::~FaultHandlers() {
  for (int signal : caught_signals) sigaction(signal, &previous[signal], nullptr);
}

SignalStack::SignalStack() : memory_(new char[signal_stack_nbytes]) {
  stack_t faults{};
  faults.ss_sp = memory_.get();
  faults.ss_size = signal_stack_nbytes;
  sigaltstack(&faults, &outer_);
}

SignalStack::~SignalStack() { sigaltstack(&outer_, nullptr); }

}  // namespace sim

namespace {

[[noreturn]] void end_block(const char* kind, const char* what, cudaError_t error, const char* file, int line) {
  using namespace sim;
  if (!worker || !worker->current) {
    fprintf(stderr, "%s:%d: %s\n", file, line, what);
    abort();
  }
  report(kind, what, {file, line});
  raise_sticky(error);
  worker->abandon_block();
}

}  // namespace

extern "C" void sim_trap(const char* what, const char* file, int line) {
  end_block("device-assert", what, cudaErrorAssert, file, line);
}

extern "C" void sim_lack(const char* what) {
  sim::worker->launch->gap = what;
  sim::worker->abandon_block();
}

extern "C" void sim_misaligned(const char* what, const char* file, int line) {
  end_block("misaligned-address", what, cudaErrorMisalignedAddress, file, line);
}
