#include "kernel_table.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <set>
#include <string>

#include "sim/abi.h"

namespace sim {
namespace {

struct NamedKernel {
  std::string name;
  void* launch;
};

std::mutex mutex;
std::map<std::string, size_t> limits_by_name;
std::map<const void*, size_t> limits_by_address;
std::map<const void*, NamedKernel> kernels;
std::set<std::string> names;  // that findings may quote for as long as the process lives

// `ns::kernel<float, 4>` and `&kernel` name the same entry.
std::string base_name(std::string name) {
  name = name.substr(0, name.find('<'));
  auto is_name = [](unsigned char c) { return isalnum(c) || c == '_'; };
  auto end = std::find_if(name.rbegin(), name.rend(), is_name);
  auto start = std::find_if_not(end, name.rend(), is_name);
  return std::string(start.base(), end.base());
}

// From the text of a call's arguments, in which the kernel may be cast to a pointer first.
std::string kernel_argument(std::string call) {
  call = call.substr(0, call.find(", cudaFuncAttribute"));
  if (call.rfind("reinterpret_cast<", 0) == 0 || call.rfind("static_cast<", 0) == 0) call = call.substr(call.find('('));
  auto cast_end = call.rfind("*)");
  if (call[0] == '(' && cast_end != std::string::npos) call = call.substr(cast_end + 2);
  return base_name(call.substr(0, call.find(',') < call.find('<') ? call.find(',') : std::string::npos));
}

}  // namespace

size_t shared_limit(const char* kernel, const void* address) {
  std::lock_guard<std::mutex> guard(mutex);
  size_t limit = default_shared;
  auto by_name = limits_by_name.find(base_name(kernel));
  if (by_name != limits_by_name.end()) limit = std::max(limit, by_name->second);
  auto by_address = limits_by_address.find(address);
  if (by_address != limits_by_address.end()) limit = std::max(limit, by_address->second);
  return limit;
}

}  // namespace sim

using namespace sim;

extern "C" {

void sim_name_kernel(const void* address, const char* name, void* launch) {
  std::lock_guard<std::mutex> guard(mutex);
  kernels[address] = {name, launch};
}

void* sim_find_kernel(const void* address) {
  std::lock_guard<std::mutex> guard(mutex);
  auto found = kernels.find(address);
  return found == kernels.end() ? nullptr : found->second.launch;
}

const char* sim_kernel_name(const void* address, const char* call) {
  std::lock_guard<std::mutex> guard(mutex);
  auto found = kernels.find(address);
  return names.insert(found == kernels.end() ? kernel_argument(call) : found->second.name).first->c_str();
}

cudaError_t sim_set_kernel_attribute(const char* call, const void* address, int attribute, int value) {
  constexpr int max_dynamic_shared_memory_size = 8;
  if (attribute != max_dynamic_shared_memory_size) return sim_sticky_error();
  if (value < 0 || size_t(value) > most_shared) {
    sim_set_last_error(cudaErrorInvalidValue);
    return cudaErrorInvalidValue;
  }
  std::lock_guard<std::mutex> guard(mutex);
  auto found = kernels.find(address);
  limits_by_name[found == kernels.end() ? kernel_argument(call) : found->second.name] = value;
  if (address) limits_by_address[address] = value;
  return sim_sticky_error();
}
}
