// Signals that a kernel raises become findings instead of the end of the process.
#pragma once
#include <signal.h>

#include <memory>

namespace sim {

// For the time of a launch. Python and torch may install handlers of their own between launches.
class FaultHandlers {
 public:
  FaultHandlers();
  ~FaultHandlers();
  FaultHandlers(const FaultHandlers&) = delete;
  FaultHandlers& operator=(const FaultHandlers&) = delete;
};

// Where a host thread handles a fault of a kernel, whose own stack may be full.
class SignalStack {
 public:
  SignalStack();
  ~SignalStack();
  SignalStack(const SignalStack&) = delete;
  SignalStack& operator=(const SignalStack&) = delete;

 private:
  stack_t outer_{};
  std::unique_ptr<char[]> memory_;
};

}  // namespace sim
