#include <torch/extension.h>

#include "case.h"

std::map<std::string, CaseFunction>& cases() {
  static std::map<std::string, CaseFunction> by_name;
  return by_name;
}

static void run(const std::string& name, const std::vector<torch::Tensor>& tensors) {
  std::vector<void*> data;
  std::vector<int64_t> numel;
  for (auto& tensor : tensors) {
    TORCH_CHECK(tensor.is_cuda() && tensor.is_contiguous());
    data.push_back(tensor.data_ptr());
    numel.push_back(tensor.numel());
  }
  cases().at(name)(Buffers{data.data(), numel.data()});
  cudaError_t error = cudaGetLastError();
  if (error == cudaSuccess) error = cudaDeviceSynchronize();
  TORCH_CHECK(error == cudaSuccess, name, ": ", cudaGetErrorString(error));
}

static std::vector<std::string> names() {
  std::vector<std::string> names;
  for (auto& [name, function] : cases()) names.push_back(name);
  return names;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, module) {
  module.def("run", &run);
  module.def("names", &names);
}
