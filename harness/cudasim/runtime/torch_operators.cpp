// Operators of the fake device: each runs its CPU kernel on aliases of the same memory.
#include <ATen/EmptyTensor.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/cat.h>
#include <torch/library.h>

#include <cstring>

#include "sim/abi.h"
#include "torch_aliases.h"
#include "torch_counting.h"
#include "torch_device.h"

namespace sim {
namespace {

using at::Tensor;
const c10::DispatchKeySet cuda_keys(c10::DispatchKey::CUDA);

// ---- Any operator.

struct Request {
  bool names_cuda = false, names_cpu = false;
};

c10::IValue lowered(const c10::IValue& value, Aliases& aliases, Request& request) {
  auto lower = [&](const Tensor& tensor) {
    request.names_cuda |= tensor.defined() && tensor.is_cuda();
    return aliases.on_cpu(tensor);
  };
  if (value.isTensor()) return lower(value.toTensor());
  if (value.isTensorList()) {
    std::vector<Tensor> tensors;
    for (const Tensor& tensor : value.toTensorVector()) tensors.push_back(lower(tensor));
    return tensors;
  }
  if (value.isOptionalTensorList()) {
    c10::List<std::optional<Tensor>> tensors;
    for (std::optional<Tensor> tensor : value.toOptionalTensorList())
      tensors.push_back(tensor ? std::optional<Tensor>(lower(*tensor)) : tensor);
    return tensors;
  }
  if (value.isDevice()) {
    bool is_cuda = value.toDevice().is_cuda();
    (is_cuda ? request.names_cuda : request.names_cpu) = true;
    return c10::Device(c10::kCPU);
  }
  return value;
}

c10::IValue raised(const c10::IValue& value, const Aliases& aliases, bool moves) {
  if (value.isTensor()) return aliases.on_device(value.toTensor(), moves);
  if (!value.isTensorList()) return value;
  std::vector<Tensor> tensors;
  for (const Tensor& tensor : value.toTensorVector()) tensors.push_back(aliases.on_device(tensor, moves));
  return tensors;
}

void mark_all_written(const c10::IValue& value) {
  if (value.isTensor()) mark_written(value.toTensor());
  if (value.isTensorList())
    for (const Tensor& tensor : value.toTensorVector()) mark_written(tensor);
}

// What an operator of this schema writes, of its arguments on the device.
std::vector<c10::IValue> written(const c10::FunctionSchema& schema, const torch::jit::Stack& stack, size_t first) {
  std::vector<c10::IValue> found;
  for (size_t i = 0; i < schema.arguments().size(); i++) {
    auto* alias = schema.arguments()[i].alias_info();
    if (alias && alias->isWrite()) found.push_back(stack[first + i]);
  }
  return found;
}

// A scalar tensor may be mixed in, as on a GPU, and so may the lists of indices in brackets.
void refuse_mixed_devices(const c10::FunctionSchema& schema, const c10::IValue& value, const Aliases& aliases) {
  if (value.isTensorList())
    for (const Tensor& tensor : value.toTensorVector()) refuse_mixed_devices(schema, tensor, aliases);
  if (!value.isTensor() || !value.toTensor().defined()) return;
  const Tensor& tensor = value.toTensor();
  if (tensor.dim() == 0 || !tensor.device().is_cpu() || aliases.is_alias(tensor)) return;
  TORCH_CHECK(false, "Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu! (",
              schema.name(), ")");
}

// Those of torch's own namespaces have kernels for CUDA, as a rule, and so have torchvision's; others that end here have
// none, and a GPU would refuse them.
bool may_have_a_cuda_kernel(const std::string& name) {
  return is_of_torch(name) || name.rfind("prims::", 0) == 0 || name.rfind("torchvision::", 0) == 0;
}

[[noreturn]] void refuse(const std::string& what) {
  std::string gap = "torch operator " + what;
  sim_note_gap(gap.c_str());
  // The words by which the harness knows a gap of ours from a fault of the solution.
  TORCH_CHECK_NOT_IMPLEMENTED(false, "harness-sim-unsupported: ", gap);
}

void run_on_cpu(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  check_device_is_well();
  const auto& schema = op.schema();
  TORCH_CHECK_NOT_IMPLEMENTED(may_have_a_cuda_kernel(schema.name()), "Could not run '", schema.name(),
                              "' with arguments from the 'CUDA' backend: it has no kernel for it");
  if (!op.hasComputedKernelForDispatchKey(c10::DispatchKey::CPU)) refuse(schema.name() + " has no CPU kernel");
  size_t first = stack->size() - schema.arguments().size();
  Aliases aliases;
  Request request;
  std::vector<c10::IValue> changed = written(schema, *stack, first);
  auto given = torch::jit::last(*stack, schema.arguments().size());
  for (size_t i = first; i < stack->size(); i++) (*stack)[i] = lowered((*stack)[i], aliases, request);
  if (request.names_cuda)
    for (size_t i = first; i < stack->size(); i++) refuse_mixed_devices(schema, (*stack)[i], aliases);
  sim_count_operator(schema.name().c_str(), elements_of(schema, given));
  Uncounted inside(is_of_torch(schema.name()));
  op.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::CPU), stack);
  aliases.write_back();
  for (auto& value : changed) mark_all_written(value);
  bool moves = request.names_cuda && !request.names_cpu;
  for (size_t i = stack->size() - schema.returns().size(); i < stack->size(); i++)
    (*stack)[i] = raised((*stack)[i], aliases, moves);
}

// ---- Sparse tensors are their parts: those are given out as they lie in the device's memory, and nothing else is done.

template <c10::DispatchKey of_cpu>
void run_as_it_is(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  op.redispatchBoxed(c10::DispatchKeySet(of_cpu), stack);
}

void refuse_sparse(const c10::OperatorHandle& op, torch::jit::Stack*) {
  refuse(op.schema().name() + " of a sparse tensor on the device");
}

// ---- Operators that make, copy or alias memory.

Tensor empty(c10::IntArrayRef sizes, std::optional<at::ScalarType> dtype, std::optional<at::Layout>,
             std::optional<at::Device>, std::optional<bool>, std::optional<at::MemoryFormat> format) {
  return at::detail::empty_generic(sizes, cuda_allocator(), cuda_keys, c10::dtype_or_default(dtype), format);
}

Tensor empty_strided(c10::IntArrayRef sizes, c10::IntArrayRef strides, std::optional<at::ScalarType> dtype,
                     std::optional<at::Layout>, std::optional<at::Device>, std::optional<bool>) {
  return at::detail::empty_strided_generic(sizes, strides, cuda_allocator(), cuda_keys, c10::dtype_or_default(dtype));
}

Tensor& copy_(Tensor& self, const Tensor& source, bool) {
  check_device_is_well();
  Aliases aliases;
  Uncounted inside;
  at::NoGradGuard no_grad;
  aliases.on_cpu(self).copy_(aliases.on_cpu(source));
  mark_written(self);
  return self;
}

Tensor& fill_scalar(Tensor& self, const at::Scalar& value) {
  check_device_is_well();
  if (self.is_non_overlapping_and_dense() && value.isIntegral(true) && value.toLong() == 0) {
    sim_fill(self.mutable_data_ptr(), 0, self.nbytes());
    return self;
  }
  Aliases aliases;
  Uncounted inside;
  at::NoGradGuard no_grad;
  aliases.on_cpu(self).fill_(value);
  mark_written(self);
  return self;
}

Tensor& zero_(Tensor& self) { return fill_scalar(self, 0); }

Tensor& set_storage(Tensor& self, c10::Storage storage, int64_t offset, c10::IntArrayRef sizes,
                    c10::IntArrayRef strides) {
  auto* target = self.unsafeGetTensorImpl();
  target->set_storage_keep_dtype(std::move(storage));
  if (strides.data() != nullptr && strides.size() == sizes.size()) {
    target->set_sizes_and_strides(sizes, strides, offset);
    return self;
  }
  std::vector<int64_t> contiguous(sizes.size());
  int64_t step = 1;
  for (size_t i = sizes.size(); i-- > 0; step *= sizes[i]) contiguous[i] = step;
  target->set_sizes_and_strides(sizes, contiguous, offset);
  return self;
}

Tensor& set_whole_storage(Tensor& self, c10::Storage storage) {
  int64_t elements = int64_t(storage.nbytes() / self.itemsize());
  return set_storage(self, std::move(storage), 0, {elements}, {});
}

Tensor& set_tensor(Tensor& self, const Tensor& source) {
  return set_storage(self, source.storage(), source.storage_offset(), source.sizes(), source.strides());
}

// ---- Cells of recurrent layers, which torch fuses on CUDA alone.

Tensor with_bias(const Tensor& gates, const std::optional<Tensor>& bias, Aliases& aliases) {
  Tensor lowered = aliases.on_cpu(gates);
  return bias && bias->defined() ? lowered + aliases.on_cpu(*bias) : lowered;
}

using OptionalTensor = std::optional<Tensor>;

// Hochreiter and Schmidhuber, with the gates in torch's order: input, forget, cell, output.
std::tuple<Tensor, Tensor, Tensor> lstm_cell(const Tensor& of_input, const Tensor& of_hidden, const Tensor& cell,
                                             const OptionalTensor& input_bias, const OptionalTensor& hidden_bias) {
  check_device_is_well();
  Aliases aliases;
  Uncounted inside;
  at::NoGradGuard no_grad;
  auto gates =
      (with_bias(of_input, input_bias, aliases) + with_bias(of_hidden, hidden_bias, aliases)).chunk(4, /*dim=*/1);
  Tensor input = gates[0].sigmoid(), forget = gates[1].sigmoid(), fresh = gates[2].tanh(), output = gates[3].sigmoid();
  Tensor next = forget * aliases.on_cpu(cell) + input * fresh;
  Tensor workspace = at::cat({input, forget, fresh, output}, 1);
  return {aliases.on_device(output * next.tanh(), true), aliases.on_device(next, true),
          aliases.on_device(workspace, true)};
}

// Cho et al., as torch.nn.GRU has it, with the gates in torch's order: reset, update, new.
std::tuple<Tensor, Tensor> gru_cell(const Tensor& of_input, const Tensor& of_hidden, const Tensor& hidden,
                                    const OptionalTensor& input_bias, const OptionalTensor& hidden_bias) {
  check_device_is_well();
  Aliases aliases;
  Uncounted inside;
  at::NoGradGuard no_grad;
  auto in = with_bias(of_input, input_bias, aliases).chunk(3, 1);
  auto own = with_bias(of_hidden, hidden_bias, aliases).chunk(3, 1);
  Tensor before = aliases.on_cpu(hidden);
  Tensor reset = (in[0] + own[0]).sigmoid(), update = (in[1] + own[1]).sigmoid();
  Tensor fresh = (in[2] + reset * own[2]).tanh();
  Tensor workspace = at::cat({reset, update, fresh, before, own[2]}, 1);
  return {aliases.on_device(fresh + update * (before - fresh), true), aliases.on_device(workspace, true)};
}

// ---- The harness's own: shared memory as a tensor.

Tensor map_buffer(int64_t fd, int64_t offset, int64_t nbytes, int64_t period, bool may_change) {
  void* data = sim_map_buffer(int(fd), offset, nbytes, period, may_change);
  TORCH_CHECK(data, "the simulator can't map ", nbytes, " bytes of descriptor ", fd, " at ", offset, ", period ",
              period);
  auto release = [](void* pointer) { sim_device_free(pointer); };
  c10::Storage storage(c10::Storage::use_byte_size_t(), nbytes, c10::DataPtr(data, data, release, cuda_device),
                       cuda_allocator(), false);
  auto tensor =
      at::detail::make_tensor<c10::TensorImpl>(std::move(storage), cuda_keys, caffe2::TypeMeta::Make<uint8_t>());
  tensor.unsafeGetTensorImpl()->set_sizes_contiguous({nbytes});
  return tensor;
}

bool is_pinned(const Tensor& tensor) { return tensor.is_cpu() && sim_is_device_memory(tensor.const_data_ptr()); }

int64_t copy_touched(const Tensor& source, const Tensor& destination) {
  return int64_t(sim_copy_touched(destination.mutable_data_ptr(), source.const_data_ptr(), source.nbytes()));
}

// How many elements of a tensor nobody has written, and the first of them in order of its indices.
std::tuple<int64_t, int64_t> count_unwritten(const Tensor& tensor) {
  if (!sim_is_checking() || !tensor.is_cuda() || tensor.layout() != at::kStrided || !tensor.numel()) return {0, 0};
  size_t size = tensor.itemsize(), offset = 0;
  auto* data = static_cast<const char*>(tensor.const_data_ptr());
  if (tensor.is_contiguous() && !sim_count_unwritten(data, tensor.nbytes(), &offset)) return {0, 0};
  int64_t count = 0, first = 0;
  std::vector<int64_t> index(tensor.dim(), 0);
  for (int64_t element = 0; element < tensor.numel(); element++) {
    int64_t at = 0;
    for (size_t i = 0; i < index.size(); i++) at += index[i] * tensor.stride(i);
    if (sim_count_unwritten(data + at * size, size, &offset) && !count++) first = element;
    for (size_t i = index.size(); i-- > 0 && ++index[i] == tensor.size(i);) index[i] = 0;
  }
  return {count, first};
}

}  // namespace

torch::CppFunction on_cpu() { return torch::CppFunction::makeFromBoxedFunction<&run_on_cpu>(); }
torch::CppFunction refused() { return torch::CppFunction::makeFromBoxedFunction<&refuse_sparse>(); }

template <c10::DispatchKey of_cpu>
torch::CppFunction as_it_is() {
  return torch::CppFunction::makeFromBoxedFunction<&run_as_it_is<of_cpu>>();
}

TORCH_LIBRARY_IMPL(_, CUDA, library) { library.fallback(on_cpu()); }

TORCH_LIBRARY_IMPL(aten, CUDA, library) {
  library.impl("empty.memory_format", &empty);
  library.impl("empty_strided", &empty_strided);
  library.impl("copy_", &copy_);
  library.impl("fill_.Scalar", &fill_scalar);
  library.impl("zero_", &zero_);
  // These choose their algorithm by the device: below here there would be no kernel for CUDA's.
  library.impl("convolution", as_it_is<c10::DispatchKey::CPU>());  // a composite, of which jit.trace keeps the part
  library.impl("_convolution", on_cpu());
  library.impl("convolution_backward", on_cpu());
  library.impl("_thnn_fused_lstm_cell", &lstm_cell);
  library.impl("_thnn_fused_gru_cell", &gru_cell);
  library.impl("set_.source_Storage", &set_whole_storage);
  library.impl("set_.source_Storage_storage_offset", &set_storage);
  library.impl("set_.source_Tensor", &set_tensor);
}

TORCH_LIBRARY_IMPL(_, SparseCsrCUDA, library) { library.fallback(refused()); }
TORCH_LIBRARY_IMPL(_, SparseCUDA, library) { library.fallback(refused()); }

TORCH_LIBRARY_IMPL(aten, SparseCsrCUDA, library) {
  for (const char* name : {"values", "crow_indices", "col_indices", "ccol_indices", "row_indices", "_nnz", "sparse_dim",
                           "dense_dim"})
    library.impl(name, as_it_is<c10::DispatchKey::SparseCsrCPU>());
}

TORCH_LIBRARY_IMPL(aten, SparseCUDA, library) {
  for (const char* name : {"_indices", "_values", "indices", "values", "is_coalesced", "_nnz", "sparse_dim", "dense_dim",
                           "_sparse_coo_tensor_with_dims_and_tensors"})
    library.impl(name, as_it_is<c10::DispatchKey::SparseCPU>());
}

TORCH_LIBRARY(harness_sim, library) {
  library.def("map_buffer(int fd, int offset, int nbytes, int period, bool may_change) -> Tensor",
              torch::dispatch(c10::DispatchKey::CompositeExplicitAutograd, &map_buffer));
  library.def("copy_touched(Tensor source, Tensor(a!) destination) -> int",
              torch::dispatch(c10::DispatchKey::CompositeExplicitAutograd, &copy_touched));
  library.def("is_pinned(Tensor tensor) -> bool",
              torch::dispatch(c10::DispatchKey::CompositeExplicitAutograd, &is_pinned));
  library.def("replay(int first, int end) -> ()",
              torch::dispatch(c10::DispatchKey::CompositeExplicitAutograd, &sim_replay));
  library.def("count_unwritten(Tensor tensor) -> (int, int)",
              torch::dispatch(c10::DispatchKey::CompositeExplicitAutograd, &count_unwritten));
}

}  // namespace sim
