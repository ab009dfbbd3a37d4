"""Slim builds of CUDA, on a GPU."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.utils import cpp_extension

from harness.sandbox.wire.layout import own_log
from harness.worker.extensions import Extensions

pytestmark = pytest.mark.gpu

KEPT_TO_ITSELF = """
#include <torch/extension.h>
#include <ATen/Dispatch.h>
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAGuard.h>

namespace {
__constant__ float scale = 2.0f;
__device__ float offset = 1.0f;

template <typename T>
__global__ void kernel(const T* x, T* y, int64_t count) {
  const int64_t i = blockIdx.x * int64_t(blockDim.x) + threadIdx.x;
  if (i < count) y[i] = x[i] * T(scale) + T(offset);
}
}  // namespace

torch::Tensor scaled(torch::Tensor x) {
  const c10::cuda::CUDAGuard guard(x.device());
  auto y = torch::zeros_like(x);
  const auto properties = at::cuda::getCurrentDeviceProperties();
  TORCH_CHECK(properties->multiProcessorCount > 0);
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "scaled", [&] {
    kernel<scalar_t><<<(x.numel() + 255) / 256, 256, 0, at::cuda::getCurrentCUDAStream()>>>(
        x.data_ptr<scalar_t>(), y.data_ptr<scalar_t>(), x.numel());
  });
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  return y;
}
"""

NEEDS_MORE = """
torch::Tensor first_row(torch::Tensor x) { return x.index({0}) * 2; }
"""


def build(cache: Path, name: str, declaration: str, cuda: str) -> tuple[Any, str]:
    extensions = Extensions(cache, "cuda")
    signature = inspect.signature(cpp_extension.load_inline)
    function = declaration.split("(")[0].split()[-1]
    module = extensions.obtain(cpp_extension.load_inline, signature.bind(name, declaration, cuda, functions=[function]))
    (report,) = extensions.take_reports()
    return module, own_log(cache, report.key).read_text()


def test_kernels_and_variables_of_an_unnamed_namespace_are_found(tmp_path: Path) -> None:
    """nvcc's two passes must have named them alike."""
    module, log = build(tmp_path, "kept", "torch::Tensor scaled(torch::Tensor x);", KEPT_TO_ITSELF)
    for dtype in (torch.float32, torch.float64):
        x = torch.arange(1000, dtype=dtype, device="cuda")
        assert torch.equal(module.scaled(x), x * 2 + 1)
    assert "worker/headers" in log
    assert "nvcc_side_by_side.py" in log
    assert log.count("Compiling entry function") == 2


def test_what_needs_the_full_headers_gets_them(tmp_path: Path) -> None:
    module, log = build(tmp_path, "more", "torch::Tensor first_row(torch::Tensor x);", NEEDS_MORE)
    assert module.first_row(torch.ones(2, 3, device="cuda")).tolist() == [2.0, 2.0, 2.0]
    assert "worker/headers" not in log


def test_a_module_in_a_cuda_source_is_bound_slimly(tmp_path: Path) -> None:
    bound = KEPT_TO_ITSELF + 'PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("scaled", &scaled, py::arg("x")); }'
    extensions = Extensions(tmp_path, "cuda")
    signature = inspect.signature(cpp_extension.load_inline)
    module: Any = extensions.obtain(cpp_extension.load_inline, signature.bind("bound", "", bound))
    (report,) = extensions.take_reports()
    assert module.scaled(x=torch.ones(2, device="cuda")).tolist() == [3.0, 3.0]
    assert "worker/headers" in own_log(tmp_path, report.key).read_text()
