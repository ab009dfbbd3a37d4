// Signals that a kernel raises become findings instead of the end of the process.
#pragma once

namespace sim {

// For the time of a launch. Python and torch may install handlers of their own between launches.
class FaultHandlers {
 public:
  FaultHandlers();
  ~FaultHandlers();
  FaultHandlers(const FaultHandlers&) = delete;
  FaultHandlers& operator=(const FaultHandlers&) = delete;
};

}  // namespace sim
