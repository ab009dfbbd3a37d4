// Launches by function instead of <<<>>>: cudaLaunchKernel, cudaLaunchCooperativeKernel, cudaLaunchKernelEx and
// cudaLaunchKernelExC. Where the host takes a kernel's address, the translator writes down what kernel that is.
#pragma once
#include <tuple>
#include <type_traits>
#include <utility>

#include "sim/launch.h"
#include "sim/launch_attributes.h"

namespace sim {

// The call's text, for the kernel's name if nobody wrote it down, and its place.
struct LaunchCall {
  const char *text, *file;
  int line;
};

template <class... Parameters>
cudaError_t launch_typed(const LaunchCall& call, const Configuration& configuration, bool is_cooperative,
                         void (*kernel)(Parameters...), std::decay_t<Parameters>... arguments) {
  const cudaError_t before = sim_last_error(1);  // of another call, whose error this one doesn't return
  const sim_by_function by_function{reinterpret_cast<const void*>(kernel), is_cooperative};
  const char* name = sim_kernel_name(by_function.kernel, call.text);
  BoundLaunch<std::decay_t<Parameters>...> launch{
      configuration, name, call.file, call.line, {std::move(arguments)...}, by_function};
  launch([kernel](auto&... each) { kernel(each...); });
  const cudaError_t error = sim_last_error(0);
  if (error == cudaSuccess && before != cudaSuccess) sim_set_last_error(before);
  return error;
}

typedef cudaError_t (*LaunchByAddress)(const LaunchCall&, const Configuration&, bool is_cooperative, const void* kernel,
                                       void** arguments);

// `arguments` are the addresses of values that have the parameters' types.
template <class... Parameters>
cudaError_t launch_by_address(const LaunchCall& call, const Configuration& configuration, bool is_cooperative,
                              const void* kernel, void** arguments) {
  auto typed = reinterpret_cast<void (*)(Parameters...)>(const_cast<void*>(kernel));
  [[maybe_unused]] void** next = arguments;
  auto launch = [&](std::decay_t<Parameters>... values) {
    return launch_typed<Parameters...>(call, configuration, is_cooperative, typed, std::move(values)...);
  };
  // Braces keep the order, as the arguments of a call would not.
  return std::apply(launch, std::tuple<std::decay_t<Parameters>...>{*static_cast<std::decay_t<Parameters>*>(*next++)...});
}

// Written before a kernel whose address is taken: `(void*)add<4>` becomes `sim::KernelName{"add"}->*add<4>`.
struct KernelName {
  const char* text;
};
template <class... Parameters>
void* operator->*(KernelName name, void (*kernel)(Parameters...)) {
  void* address = reinterpret_cast<void*>(kernel);
  sim_name_kernel(address, name.text, reinterpret_cast<void*>(&launch_by_address<Parameters...>));
  return address;
}
// An object that has a kernel's name: `(void*)&scale` of a parameter.
template <class T>
void* operator->*(KernelName, T* object) {
  return (void*)object;
}

static inline cudaError_t launch_kernel(const LaunchCall& call, bool is_cooperative, const void* kernel, dim3 grid,
                                        dim3 block, void** arguments, size_t dynamic_shared = 0,
                                        cudaStream_t stream = nullptr) {
  auto launch = reinterpret_cast<LaunchByAddress>(sim_find_kernel(kernel));
  if (!launch) sim_refuse("a launch of a kernel of which only the address is known");
  return launch(call, {grid, block, dynamic_shared, stream}, is_cooperative, kernel, arguments);
}
template <class... Parameters>
cudaError_t launch_kernel(const LaunchCall& call, bool is_cooperative, void (*kernel)(Parameters...), dim3 grid,
                          dim3 block, void** arguments, size_t dynamic_shared = 0, cudaStream_t stream = nullptr) {
  return launch_by_address<Parameters...>(call, {grid, block, dynamic_shared, stream}, is_cooperative,
                                          reinterpret_cast<const void*>(kernel), arguments);
}

static inline bool is_cooperative(const cudaLaunchConfig_t& config) {
  bool is_so = false;
  for (unsigned i = 0; i < config.numAttrs; i++) {
    const cudaLaunchAttribute& attribute = config.attrs[i];
    const auto& cluster = attribute.val.clusterDim;
    if (attribute.id == cudaLaunchAttributeCooperative) is_so = attribute.val.cooperative != 0;
    if (attribute.id == cudaLaunchAttributeClusterDimension && (cluster.x > 1 || cluster.y > 1 || cluster.z > 1))
      sim_refuse("thread block clusters, by an attribute of a launch");
    if (attribute.id == cudaLaunchAttributeProgrammaticEvent || attribute.id == cudaLaunchAttributeLaunchCompletionEvent)
      sim_refuse("events as an attribute of a launch");
  }
  return is_so;
}

template <class... Parameters, class... Arguments>
cudaError_t launch_kernel_ex(const LaunchCall& call, const cudaLaunchConfig_t* config, void (*kernel)(Parameters...),
                             Arguments&&... arguments) {
  static_assert(sizeof...(Parameters) == sizeof...(Arguments), "cudaLaunchKernelEx: one argument for each parameter");
  const Configuration configuration{config->gridDim, config->blockDim, config->dynamicSmemBytes, config->stream};
  return launch_typed<Parameters...>(call, configuration, is_cooperative(*config), kernel,
                                     std::forward<Arguments>(arguments)...);
}
template <class Kernel>
cudaError_t launch_kernel_ex_c(const LaunchCall& call, const cudaLaunchConfig_t* config, Kernel* kernel,
                               void** arguments) {
  return launch_kernel(call, is_cooperative(*config), kernel, config->gridDim, config->blockDim, arguments,
                       config->dynamicSmemBytes, config->stream);
}

}  // namespace sim

#define SIM_LAUNCH_CALL(...) ::sim::LaunchCall{SIM_TEXT(__VA_ARGS__), __FILE__, __LINE__}
#define cudaLaunchKernel(...) sim::launch_kernel(SIM_LAUNCH_CALL(__VA_ARGS__), false, __VA_ARGS__)
#define cudaLaunchCooperativeKernel(...) sim::launch_kernel(SIM_LAUNCH_CALL(__VA_ARGS__), true, __VA_ARGS__)
#define cudaLaunchKernelEx(config, ...) sim::launch_kernel_ex(SIM_LAUNCH_CALL(__VA_ARGS__), config, __VA_ARGS__)
#define cudaLaunchKernelExC(config, ...) sim::launch_kernel_ex_c(SIM_LAUNCH_CALL(__VA_ARGS__), config, __VA_ARGS__)

#if defined(HARNESS_SIM_DEVICE)
// One launch has ended before the next begins.
static inline void cudaGridDependencySynchronize() {}
static inline void cudaTriggerProgrammaticLaunchCompletion() {}
#endif
