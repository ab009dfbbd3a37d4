// Work for a stream that is captured into a graph.
#pragma once
#include "sim/abi.h"

namespace sim {

// Whether `work` is kept, a function object that replays call, since `stream` is captured.
template <class Work>
inline bool is_captured(const void* stream, const Work& work) {
  if (!sim_captures(stream)) return false;
  // A copy on the stack runs: there the checked build lets a kernel read its arguments.
  sim_capture([](void* kept) { Work(*static_cast<Work*>(kept))(); }, new Work(work));
  return true;
}

}  // namespace sim
