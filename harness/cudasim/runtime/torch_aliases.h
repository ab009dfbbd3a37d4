// CPU tensors over the storage of CUDA ones, for the length of one operator.
#pragma once
#include <ATen/core/Tensor.h>

#include <utility>
#include <vector>

namespace sim {

// For the checked build: the host has written a tensor of the device.
void mark_written(const at::Tensor& tensor);

class Aliases {
 public:
  // The CPU alias of a CUDA tensor; any other tensor as it is.
  at::Tensor on_cpu(const at::Tensor& tensor);
  // What an operator's result is on the device. `moves` a new CPU tensor there.
  at::Tensor on_device(const at::Tensor& result, bool moves) const;
  bool is_alias(const at::Tensor& tensor) const;
  // Gives originals the shape and storage that a CPU kernel gave their aliases (`out=` and resizes).
  void write_back() const;

 private:
  struct Pair {
    at::Tensor alias, original;
  };
  std::vector<Pair> pairs_;
};

}  // namespace sim
