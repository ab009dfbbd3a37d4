"""The referee's serial sums on a GPU, one thread an output, and convolutions as products in tf32.

`TF32` replaces convolutions that torch computes in tf32.
"""

from __future__ import annotations

import ctypes
import functools
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch

from harness.referee.answers.serial_sums import SerialSums, convolution
from harness.referee.answers.tf32 import tf32_allowed

_TF32 = 1e-5
"""A share of the largest value: float32 in another algorithm stays below it, tf32 doesn't."""
_KERNELS = r"""
__global__ void product_(const float* a, const float* b, float* c, long long groups, long long batch, long long m,
                         long long k, long long n) {
    long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i >= batch * m * n) return;
    long long item = i / (m * n), row = i / n % m;
    const float* x = a + (item % groups * m + row) * k;
    const float* y = b + item * k * n + i % n;
    float sum = 0;
    for (long long j = 0; j < k; j++) sum += x[j] * y[j * n];
    c[i] = sum;
}
__global__ void sum_(const float* x, float* y, long long outer, long long length, long long inner, bool running) {
    long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i >= outer * inner) return;
    long long first = i / inner * length * inner + i % inner;
    float sum = 0;
    for (long long j = 0; j < length; j++) {
        sum += x[first + j * inner];
        if (running) y[first + j * inner] = sum;
    }
    if (!running) y[i] = sum;
}
extern "C" int product(const float* a, const float* b, float* c, long long groups, long long batch, long long m,
                       long long k, long long n, void* stream) {
    product_<<<(batch * m * n + 255) / 256, 256, 0, (cudaStream_t)stream>>>(a, b, c, groups, batch, m, k, n);
    return cudaGetLastError();
}
extern "C" int sum(const float* x, float* y, long long outer, long long length, long long inner, long long running,
                   void* stream) {
    sum_<<<(outer * inner + 255) / 256, 256, 0, (cudaStream_t)stream>>>(x, y, outer, length, inner, running);
    return cudaGetLastError();
}
"""


class QuickSums(SerialSums):
    """Serial sums by kernels of two seconds' compilation on a GPU; elsewhere as they are."""

    def add_products(self, a: torch.Tensor, b: torch.Tensor, result: torch.Tensor) -> None:
        if a.is_cuda:
            _launch("product", a, b, result, len(a), len(b), a.shape[1], a.shape[2], b.shape[2])
        else:
            super().add_products(a, b, result)

    def add_terms(self, x: torch.Tensor, result: torch.Tensor) -> None:
        if x.is_cuda:
            _launch("sum", x, result, *x.shape, 0)
        else:
            super().add_terms(x, result)

    def add_up(self, x: torch.Tensor) -> None:
        if x.is_cuda:
            _launch("sum", x.clone(), x, len(x), x.shape[1], x[:1, :1].numel(), 1)
        else:
            super().add_up(x)


def tf32_product(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    with tf32_allowed(True):
        return torch.bmm(a.repeat(b.shape[0] // a.shape[0], 1, 1), b)


def tf32_convolution(*given: Any) -> Any:
    """Convolve by tf32 products, where torch itself computes this one in tf32."""
    return convolution(tf32_product, *given) if _is_in_tf32(*given) else NotImplemented


def _is_in_tf32(*given: Any) -> bool:
    usual = torch.ops.aten.convolution(*given)
    with tf32_allowed(False):
        strict = torch.ops.aten.convolution(*given)
    return bool((usual - strict).abs().max() > _TF32 * strict.abs().max())


TF32: Mapping[Any, Callable[..., Any]] = {torch.ops.aten.convolution: tf32_convolution}


def _launch(name: str, *arguments: torch.Tensor | int) -> None:
    """Raises: RuntimeError."""
    passed = [ctypes.c_void_p(a.data_ptr()) if isinstance(a, torch.Tensor) else ctypes.c_longlong(a) for a in arguments]
    error = _library()[name](*passed, ctypes.c_void_p(torch.cuda.current_stream().cuda_stream))
    if error:
        raise RuntimeError(f"{name}: CUDA error {error}")


@functools.cache
def _library() -> ctypes.CDLL:
    """nvcc takes two seconds without torch's headers."""
    with tempfile.TemporaryDirectory() as folder:
        source, library = Path(folder, "serial.cu"), Path(folder, "serial.so")
        source.write_text(_KERNELS)
        major, minor = torch.cuda.get_device_capability()
        flags = ["-O3", "-shared", "-Xcompiler", "-fPIC", f"-arch=sm_{major}{minor}"]
        subprocess.run([_nvcc(), *flags, "-o", str(library), str(source)], check=True)
        return ctypes.CDLL(str(library))


def _nvcc() -> str:
    from torch.utils.cpp_extension import CUDA_HOME

    return str(Path(CUDA_HOME, "bin/nvcc")) if CUDA_HOME else "nvcc"
