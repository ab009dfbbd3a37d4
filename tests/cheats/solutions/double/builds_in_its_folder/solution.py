"""Honest: its source and its build lie in folders that it makes beside solution.py."""

import shutil
from pathlib import Path

import torch
from torch.utils.cpp_extension import load

HERE = Path(__file__).resolve().parent
BUILD = HERE / "_build" / "one"
BUILD.mkdir(parents=True, exist_ok=True)
(HERE / "generated.cu").write_text(
    """\
#include <torch/extension.h>

__global__ void twice(const float* x, float* y, int64_t n) {
  int64_t i = blockIdx.x * int64_t(blockDim.x) + threadIdx.x;
  if (i < n) y[i] = 2 * x[i];
}

torch::Tensor run(torch::Tensor x) {
  auto y = torch::empty_like(x);
  int64_t n = x.numel();
  twice<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
  return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("run", &run); }
"""
)
extension = load(name="twice_here", sources=[str(HERE / "generated.cu")], build_directory=str(BUILD))
shutil.copy(HERE / "generated.cu", BUILD / "kept.cu")


class ModelNew(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return extension.run(x)
