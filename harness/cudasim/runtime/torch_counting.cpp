// Counts torch's operators on the host's own tensors while a trace is taken: work that no kernel of the device does.
// Those on the device's are counted where they run (torch_operators.cpp).
#include "torch_counting.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/record_function.h>

#include <unordered_set>

#include "sim/abi.h"

namespace sim {
namespace {

thread_local bool is_uncounted = false;

const std::unordered_set<std::string> torchs = [] {
  std::unordered_set<std::string> names;
  for (const auto& op : c10::Dispatcher::singleton().getAllOpNames())
    if (op.name.rfind("aten::", 0) == 0) names.insert(op.name);
  return names;
}();

template <class Visit>
void visit_tensors(const c10::IValue& value, Visit visit) {
  if (value.isTensor() && value.toTensor().defined()) visit(value.toTensor());
  if (value.isTensorList())
    for (const at::Tensor& tensor : value.toTensorVector()) visit(tensor);
}

bool are_of_the_host(c10::ArrayRef<c10::IValue> arguments) {
  bool on_host = false, on_device = false;
  for (const c10::IValue& value : arguments)
    visit_tensors(value, [&](const at::Tensor& tensor) { (tensor.device().is_cpu() ? on_host : on_device) = true; });
  return on_host && !on_device;
}

// What is made of others isn't: they are counted themselves.
bool is_made_of_others(const c10::OperatorHandle& op) {
  return op.hasKernelForDispatchKey(c10::DispatchKey::CompositeImplicitAutograd);
}

std::unique_ptr<at::ObserverContext> count(const at::RecordFunction& function) {
  auto name = function.operator_name();
  if (is_uncounted || !name || !is_of_torch(name->name) || !are_of_the_host(function.inputs())) return nullptr;
  auto op = c10::Dispatcher::singleton().findSchema(*name);
  if (op && !is_made_of_others(*op))
    sim_count_operator(name->name.c_str(), elements_of(op->schema(), function.inputs()));
  return nullptr;
}

at::CallbackHandle added() {
  auto callback = at::RecordFunctionCallback(&count).needsInputs(true).scopes({at::RecordScope::FUNCTION});
  auto handle = at::addGlobalCallback(callback);
  at::disableCallback(handle);
  return handle;
}

// Only in a trace: each of torch's operators takes longer for it.
const bool is_told_of_traces = [] {
  static const at::CallbackHandle handle = added();
  sim_at_trace([](int is_on) { is_on ? at::reenableCallback(handle) : at::disableCallback(handle); });
  return true;
}();

}  // namespace

int64_t elements_of(const c10::FunctionSchema& schema, c10::ArrayRef<c10::IValue> arguments) {
  int64_t elements = 0;
  for (size_t i = 0; i < arguments.size(); i++) {
    if (i < schema.arguments().size() && schema.arguments()[i].is_out()) continue;
    visit_tensors(arguments[i], [&](const at::Tensor& tensor) {
      elements += tensor.numel() * (tensor.is_complex() ? 2 : 1);
    });
  }
  return elements;
}

bool is_of_torch(const std::string& operator_name) { return torchs.count(operator_name) != 0; }

Uncounted::Uncounted(bool is_on) : was_on_(is_uncounted) { is_uncounted = was_on_ || is_on; }
Uncounted::~Uncounted() { is_uncounted = was_on_; }

}  // namespace sim
