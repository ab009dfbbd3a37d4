// What the simulator lacks. Functions of a stand-in library (stand_ins.py) end here: CUDA's own, and those of torch's
// half for GPUs.
#include <cxxabi.h>

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <typeinfo>

#include "sim/abi.h"

namespace {

std::atomic<bool> torch_is_loaded{false};

std::string without_arguments(const char* name) {
  int status = 0;
  char* demangled = abi::__cxa_demangle(name, nullptr, nullptr, &status);
  std::string text = status == 0 ? demangled : name;
  free(demangled);
  return text.substr(0, text.find('('));
}

// `a::Thing::Thing`
bool is_constructor(const std::string& name) {
  size_t colons = name.rfind("::");
  if (colons == std::string::npos) return false;
  std::string own = name.substr(colons + 2), scope = name.substr(0, colons);
  return scope == own || (scope.size() > own.size() + 1 && scope.compare(scope.size() - own.size() - 2, 2, "::") == 0 &&
                          scope.compare(scope.size() - own.size(), own.size(), own) == 0);
}

struct Nothing {};
void do_nothing() {}

// As the C++ ABI of x86-64 lays out a class without bases; its virtual functions, a destructor among them, do nothing.
struct Methods {
  ptrdiff_t offset_to_top = 0;
  const std::type_info* type = &typeid(Nothing);
  void (*functions[64])();
  Methods() {
    for (auto& function : functions) function = &do_nothing;
  }
};

// torch's bindings make options of NCCL, as default values of arguments that nobody will call with.
void* while_loading(const std::string& name, void* self) {
  alignas(64) static char nothing[4096];
  static Methods methods;
  if (is_constructor(name)) *static_cast<void**>(self) = methods.functions;
  return nothing;
}

}  // namespace

extern "C" {

void* sim_absent(const char* mangled, void* self) {
  std::string name = without_arguments(mangled);
  if (!torch_is_loaded) return while_loading(name, self);
  name += " of a CUDA build of torch";
  sim_refuse(name.c_str());
}

void sim_refuse(const char* construct) {
  sim_note_gap(construct);
  // The words by which the harness knows a gap of ours from a fault of the solution.
  throw std::runtime_error(std::string("harness-sim-unsupported: ") + construct);
}

void sim_torch_is_loaded(void) { torch_is_loaded = true; }
}
