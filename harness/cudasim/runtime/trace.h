// Where in the translated code something happened: an instruction, and the calls that led to it.
#pragma once
#include <vector>

namespace sim {

// What a function called by translated code sees of its caller, before it calls anything itself.
struct Site {
  void* instruction;
  void** frame;  // the caller's, whose first word is the frame of its own caller
};

// Must be expanded in the called function itself: the frame is gone after a tail call.
#define SIM_CALLER_SITE()                                                         \
  ::sim::Site {                                                                   \
    static_cast<char*>(__builtin_return_address(0)) - 1,                          \
        *static_cast<void***>(__builtin_frame_address(0))                         \
  }

// The calls above a site, innermost first, as far as frames lie between the two addresses.
std::vector<void*> callers(const Site& site, const void* lowest, const void* highest);

}  // namespace sim
