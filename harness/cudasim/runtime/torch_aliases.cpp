#include "torch_aliases.h"

#include <ATen/EmptyTensor.h>

#include <algorithm>
#include <cstring>

#include "sim/abi.h"
#include "torch_device.h"

namespace sim {
namespace {

// Conjugation and negation may be flags, which say how the values in memory are read.
void take_flags(const at::Tensor& tensor, const at::Tensor& like) {
  tensor._set_conj(like.is_conj());
  tensor._set_neg(like.is_neg());
}

at::Tensor over_storage(c10::Storage storage, c10::DispatchKeySet keys, const at::Tensor& like) {
  auto tensor = at::detail::make_tensor<c10::TensorImpl>(c10::TensorImpl::VIEW, std::move(storage), keys, like.dtype());
  tensor.unsafeGetTensorImpl()->set_sizes_and_strides(like.sizes(), like.strides(), like.storage_offset());
  take_flags(tensor, like);
  return tensor;
}

void release_storage(void* storage) { delete static_cast<c10::Storage*>(storage); }

c10::Storage cpu_view(const c10::Storage& storage) {
  c10::DataPtr data(storage.mutable_data(), new c10::Storage(storage), &release_storage, c10::kCPU);
  return c10::Storage(c10::Storage::use_byte_size_t(), storage.nbytes(), std::move(data), c10::GetAllocator(c10::kCPU),
                      true);
}

at::Tensor moved_to_device(const at::Tensor& tensor) {
  at::Tensor moved = at::detail::empty_strided_generic(tensor.sizes(), tensor.strides(), cuda_allocator(),
                                                 c10::DispatchKeySet(c10::DispatchKey::CUDA), tensor.scalar_type());
  size_t available = tensor.storage().nbytes() - tensor.storage_offset() * tensor.itemsize();
  size_t nbytes = std::min<size_t>(available, moved.storage().nbytes());
  if (nbytes) memcpy(moved.mutable_data_ptr(), tensor.const_data_ptr(), nbytes);
  take_flags(moved, tensor);
  mark_written(moved);
  return moved;
}

bool same_layout(const at::Tensor& a, const at::Tensor& b) {
  return a.storage().data() == b.storage().data() && a.sizes() == b.sizes() && a.strides() == b.strides();
}

}  // namespace

// From the first element to the last, with what may lie between.
void mark_written(const at::Tensor& tensor) {
  if (!tensor.defined() || !tensor.is_cuda() || tensor.layout() != at::kStrided || !tensor.numel()) return;
  int64_t elements = 1;
  for (int64_t i = 0; i < tensor.dim(); i++) elements += (tensor.size(i) - 1) * tensor.stride(i);
  sim_mark_written(tensor.mutable_data_ptr(), elements * tensor.itemsize());
}

at::Tensor Aliases::on_cpu(const at::Tensor& tensor) {
  if (!tensor.defined() || !tensor.is_cuda() || tensor.layout() != at::kStrided) return tensor;
  for (auto& pair : pairs_)
    if (pair.original.is_same(tensor)) return pair.alias;
  at::Tensor alias = over_storage(cpu_view(tensor.storage()), c10::DispatchKeySet(c10::DispatchKey::CPU), tensor);
  pairs_.push_back({alias, tensor});
  return alias;
}

at::Tensor Aliases::on_device(const at::Tensor& result, bool moves) const {
  if (!result.defined() || !result.device().is_cpu() || result.layout() != at::kStrided) return result;
  for (auto& pair : pairs_)
    if (pair.alias.is_same(result)) return pair.original;
  for (auto& pair : pairs_)  // a view of an input
    if (result.has_storage() && result.storage().nbytes() &&
        result.storage().data() == pair.original.storage().data())
      // In inference mode, too, the view of an ordinary tensor is one.
      return over_storage(pair.original.storage(), pair.original.key_set(), result);
  return moves ? moved_to_device(result) : result;
}

bool Aliases::is_alias(const at::Tensor& tensor) const {
  return std::any_of(pairs_.begin(), pairs_.end(), [&](const Pair& pair) { return pair.alias.is_same(tensor); });
}

void Aliases::write_back() const {
  for (auto& [alias, original] : pairs_) {
    if (same_layout(alias, original)) continue;
    bool same_storage = alias.storage().data() == original.storage().data();
    at::Tensor now = same_storage ? over_storage(original.storage(), original.key_set(), alias)
                                  : moved_to_device(alias);
    auto* target = original.unsafeGetTensorImpl();
    target->set_storage_keep_dtype(now.storage());
    target->set_sizes_and_strides(now.sizes(), now.strides(), now.storage_offset());
  }
}

}  // namespace sim
