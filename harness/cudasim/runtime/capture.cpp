// Stream capture: the launches and copies that graphs replay.
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

#include "sim/abi.h"

namespace sim {
namespace {

struct Work {
  void (*run)(void*);
  void* kept;
};

// As runtime_api.h has it: CUstream_st of a stream that doesn't block the default one.
struct {
  unsigned flags = 1;
  int priority = 0;
} captured_stream;

std::mutex mutex;
std::vector<Work> works;  // of all captures; a process has few, and keeps them
bool is_capturing = false, is_spoilt = false;

// torch's streams don't block the default one: what that is given during a capture runs at once, in no graph (H200).
bool is_default(const void* stream) { return reinterpret_cast<uintptr_t>(stream) <= 2; }

}  // namespace
}  // namespace sim

using namespace sim;

extern "C" {

void sim_begin_capture(void) {
  std::lock_guard<std::mutex> guard(mutex);
  is_capturing = true;
  is_spoilt = false;
}

cudaError_t sim_end_capture(void) {
  std::lock_guard<std::mutex> guard(mutex);
  is_capturing = false;
  return is_spoilt ? cudaErrorStreamCaptureInvalidated : sim_sticky_error();
}

int sim_is_capturing(void) {
  std::lock_guard<std::mutex> guard(mutex);
  return is_capturing;
}

void* sim_current_stream(void) { return sim_is_capturing() ? &captured_stream : nullptr; }

bool sim_captures(const void* stream) {
  if (is_default(stream) || !sim_is_capturing()) return false;
  if (stream != &captured_stream) sim_refuse_in_capture("a stream that isn't torch's");
  return true;
}

void sim_capture(void (*run)(void*), void* work) {
  std::lock_guard<std::mutex> guard(mutex);
  works.push_back({run, work});
}

int64_t sim_captured(void) {
  std::lock_guard<std::mutex> guard(mutex);
  return works.size();
}

void sim_replay(int64_t first, int64_t end) {
  for (int64_t i = first; i < end && i < sim_captured(); i++) {
    Work work;
    {
      std::lock_guard<std::mutex> guard(mutex);
      work = works[i];
    }
    work.run(work.kept);
  }
}

cudaError_t sim_synchronize(void) {
  std::lock_guard<std::mutex> guard(mutex);
  is_spoilt |= is_capturing;
  return is_capturing ? cudaErrorStreamCaptureUnsupported : sim_sticky_error();
}

void sim_refuse_in_capture(const char* what) {
  if (!sim_is_capturing()) return;
  std::string gap = std::string(what) + " in a CUDA graph";
  sim_note_gap(gap.c_str());
  // The words by which the harness knows a gap of ours from a fault of the solution.
  throw std::runtime_error("harness-sim-unsupported: " + gap);
}
}
