// What the translator writes for `kernel<<<grid, block, shared, stream>>>(arguments)` and for `__shared__`.
#pragma once
#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

#include "sim/abi.h"
#include "sim/capture.h"

// Stands first in a kernel with __launch_bounds__; 0 is none. A second argument says how many blocks should fit.
#define SIM_LAUNCH_BOUNDS(...) \
  if (unsigned sim_most = ::sim::first(__VA_ARGS__); sim_most && blockDim.x * blockDim.y * blockDim.z > sim_most) \
  sim_exceed_launch_bounds(sim_most)

namespace sim {

template <class... Others>
constexpr unsigned first(unsigned most, Others...) {
  return most;
}

struct Configuration {
  dim3 grid, block;
  size_t dynamic_shared;
  const void* stream;
  Configuration(dim3 grid_, dim3 block_ = 1, size_t dynamic_shared_ = 0, const void* stream_ = nullptr)
      : grid(grid_), block(block_), dynamic_shared(dynamic_shared_), stream(stream_) {}
};

// Arguments are copied at the launch, as the hardware does, and handed to each thread afresh.
template <class... Arguments>
struct BoundLaunch {
  Configuration configuration;
  const char *kernel, *file;
  int line;
  std::tuple<Arguments...> arguments;
  sim_by_function by_function = {};  // without a kernel for <<<>>>

  template <class Kernel>
  void operator()(Kernel&& run) {
    if (is_captured(configuration.stream, [launch = *this, run]() mutable { launch(Kernel(run)); })) return;
    struct Call {
      Kernel* run;
      std::tuple<Arguments...>* arguments;
    } call{&run, &arguments};
    if (!std::apply([this](const auto&... each) { return accepts(each...); }, arguments)) return;
    auto body = [](void* erased) {
      auto* to_run = static_cast<Call*>(erased);
      std::apply(*to_run->run, *to_run->arguments);
    };
    sim_launch(configuration.grid, configuration.block, configuration.dynamic_shared, kernel, file, line, body, &call,
               by_function.kernel ? &by_function : nullptr);
  }

 private:
  template <class... Each>
  bool accepts(const Each&... each) const {
    int position = 0;
    return (accepts_one(each, ++position) && ...);
  }

  template <class T>
  bool accepts_one(const T& argument, int position) const {
    if constexpr (std::is_pointer_v<T> && !std::is_function_v<std::remove_pointer_t<T>>) {
      auto* pointer = const_cast<const void*>(static_cast<const volatile void*>(argument));
      sim_note_argument(pointer, position, std::is_const_v<std::remove_pointer_t<T>>, false);
      return sim_accepts_pointer(pointer, position, kernel, file, line);
    } else {
      sim_note_argument(nullptr, position, false,
                        std::is_class_v<T> && sizeof(T) >= sizeof(void*));
      return true;
    }
  }
};

struct Launcher {
  Configuration configuration;
  const char *kernel, *file;
  int line;

  template <class... Arguments>
  BoundLaunch<std::decay_t<Arguments>...> with(Arguments&&... arguments) {
    return {configuration, kernel, file, line, {std::forward<Arguments>(arguments)...}};
  }
};

// `T` is a local struct that holds the declared variables, so each declaration has a key of its own.
template <class T>
inline T& shared_static(const char* names) {
  static_assert(sizeof(T) <= 49152, "ptxas error: kernel uses too much shared data (more than 0xc000 bytes)");
  static const char key = 0;
  return *static_cast<T*>(sim_shared_static(&key, sizeof(T), alignof(T), names));
}

}  // namespace sim
