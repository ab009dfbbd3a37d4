"""The plainest honest arithmetic, in a reference's own code: each sum in float32, one term after the other.

`Recomputed(SERIAL)` is a context in which products, convolutions, sums, means, norms and cumulative sums are computed
anew, one thread an output; sums of more than 2^16 terms in two levels, as any kernel would have them. `TF32` replaces
convolutions that torch computes in tf32, by products in tf32. A convolution is unfolded for that. On a CPU the same
sums are taken by torch, term by term: slow, for tests.
"""

from __future__ import annotations

import ctypes
import functools
import math
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812
from torch._decomp import get_decompositions
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils._python_dispatch import TorchDispatchMode

LONGEST = 2**16
"""Terms of one serial sum."""
_COLUMNS = 2**28
"""Elements of an unfolded input: more items of it wait for the next round."""
_TF32 = 1e-5
"""Of the largest value: float32 in another algorithm stays below it, tf32 doesn't."""
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

Product = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
"""Of `a` [groups, m, k] and `b` [batch, k, n]; item i of the batch takes group i modulo groups."""


class Recomputed(TorchDispatchMode):
    """Context: these operations on float32 tensors are computed by what `instead` names for them. `count` of them."""

    def __init__(self, instead: Mapping[Any, Callable[..., Any]]) -> None:
        super().__init__()
        self.count = 0
        self._instead = instead

    def __torch_dispatch__(self, func: Any, types: Any, args: Sequence[Any] = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        is_float32 = isinstance(args[0], torch.Tensor) and args[0].dtype is torch.float32 if args else False
        if is_float32 and "out" not in kwargs and kwargs.get("dtype") in (None, torch.float32):
            kwargs.pop("dtype", None)
            if func in _DECOMPOSED and torch.ops.aten.sum in self._instead:
                with self:
                    return _DECOMPOSED[func](*args, **kwargs)
            if made := self._instead.get(func.overloadpacket):
                found = made(*args, **kwargs)
                if found is not NotImplemented:
                    self.count += 1
                    return found
        return func(*args, **kwargs)


@contextmanager
def serially() -> Iterator[Recomputed]:
    """Recomputed(SERIAL), with nothing fused that hides a sum."""
    fast, cudnn = torch.backends.mha.get_fastpath_enabled(), torch.backends.cudnn.enabled
    with ExitStack() as stack:
        stack.callback(torch.backends.mha.set_fastpath_enabled, fast)
        stack.callback(setattr, torch.backends.cudnn, "enabled", cudnn)
        torch.backends.mha.set_fastpath_enabled(False)
        torch.backends.cudnn.enabled = False
        stack.enter_context(sdpa_kernel(SDPBackend.MATH))
        yield stack.enter_context(Recomputed(SERIAL))


def product(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    (groups, m, k), (batch, _, n) = a.shape, b.shape
    if k > LONGEST:
        pieces = math.isqrt(k - 1) + 1
        a, b = F.pad(a, (0, -k % pieces)), F.pad(b, (0, 0, 0, -k % pieces))
        a = a.view(groups, m, pieces, -1).transpose(1, 2).reshape(groups * pieces, m, -1)
        parts = product(a, b.reshape(batch * pieces, -1, n))
        return sum_of(parts.view(batch, pieces, m * n)).view(batch, m, n)
    a, b = a.contiguous(), b.contiguous()
    result = a.new_zeros(batch, m, n)
    if a.is_cuda and result.numel():
        _launch("product", a, b, result, groups, batch, m, k, n)
    elif result.numel():
        a = a.repeat(batch // groups, 1, 1)
        for j in range(k):
            result.addcmul_(a[:, :, j : j + 1], b[:, j : j + 1])
    return result


def tf32_product(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    saved = torch.backends.cuda.matmul.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = True
    try:
        return torch.bmm(a.repeat(b.shape[0] // a.shape[0], 1, 1), b)
    finally:
        torch.backends.cuda.matmul.allow_tf32 = saved


def sum_of(x: torch.Tensor) -> torch.Tensor:
    """[outer, length, inner] to [outer, inner]."""
    outer, length, inner = x.shape
    if length > LONGEST:
        pieces = math.isqrt(length - 1) + 1
        parts = F.pad(x, (0, 0, 0, -length % pieces)).reshape(outer * pieces, -1, inner)
        return sum_of(sum_of(parts).view(outer, pieces, inner))
    result = x.new_zeros(outer, inner)
    if x.is_cuda and x.numel():
        _launch("sum", x.contiguous(), result, outer, length, inner, 0)
    elif x.numel():
        for j in range(length):
            result += x[:, j]
    return result


def running_sum(x: torch.Tensor, dim: int) -> torch.Tensor:
    moved = x.movedim(dim, 1) if x.dim() > 1 else x.unsqueeze(0)
    source = moved.contiguous()
    result = source.clone()
    if x.is_cuda and x.numel():
        _launch("sum", source, result, len(source), source.shape[1], source[:1, :1].numel(), 1)
    else:
        for j in range(1, source.shape[1]):
            result[:, j] += result[:, j - 1]
    return result.movedim(1, dim) if x.dim() > 1 else result[0]


def reduced(x: torch.Tensor, dim: Any = None, keepdim: bool = False) -> torch.Tensor:
    """The sum over these dimensions, all by default."""
    over = _dims(x, dim)
    kept = [axis for axis in range(x.dim()) if axis not in over]
    first = x.permute(*over, *kept).reshape(1, math.prod(x.shape[axis] for axis in over), -1)
    shape = [1 if axis in over else size for axis, size in enumerate(x.shape) if keepdim or axis not in over]
    return sum_of(first).view(shape)


def mean(x: torch.Tensor, dim: Any = None, keepdim: bool = False) -> torch.Tensor:
    return reduced(x, dim, keepdim) / math.prod(x.shape[axis] for axis in _dims(x, dim))


def vector_norm(x: torch.Tensor, order: Any = 2, dim: Any = None, keepdim: bool = False) -> Any:
    if order not in (1, 2):
        return NotImplemented
    return reduced(x.abs(), dim, keepdim) if order == 1 else reduced(x * x, dim, keepdim).sqrt()


def var_mean(x: torch.Tensor, dim: Any = None, correction: Any = 1, keepdim: bool = False) -> tuple[torch.Tensor, ...]:
    middle = mean(x, dim, True)
    count = math.prod(x.shape[axis] for axis in _dims(x, dim))
    spread = reduced((x - middle).square(), dim, keepdim) / (count - (1 if correction is None else correction))
    return spread, middle if keepdim else middle.reshape(spread.shape)


def logsumexp(x: torch.Tensor, dim: Any, keepdim: bool = False) -> torch.Tensor:
    largest = x.amax(dim, True)
    return reduced((x - largest).exp(), dim, keepdim).log() + (largest if keepdim else x.amax(dim))


def batch_norm(
    x: torch.Tensor, weight: Any, bias: Any, running_mean: Any, running_var: Any, training: bool, *rest: Any
) -> Any:
    """In training, as instance_norm() has it; else there is no sum in it."""
    if not training:
        return NotImplemented
    spread, middle = var_mean(x, [0, *range(2, x.dim())], 0, True)
    shape = [1, -1, *[1] * (x.dim() - 2)]
    scaled = (x - middle) / (spread + rest[-1]).sqrt()
    scaled = scaled if weight is None else scaled * weight.view(shape)
    return scaled if bias is None else scaled + bias.view(shape), middle.flatten(), spread.flatten()


def convolution(
    times: Product,
    x: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor | None,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    transposed: bool,
    output_padding: Sequence[int],
    groups: int,
) -> torch.Tensor:
    """As aten.convolution: unfolded, then a product; a transposed one is that of the input with zeros between."""
    kernel, edges = weight.shape[2:], [(one, one) for one in padding]
    if transposed:
        weight = weight.view(groups, -1, *weight.shape[1:]).transpose(1, 2).flatten(0, 1)
        weight = weight.flip([*range(2, weight.dim())])
        x, stride = _spaced(x, stride), [1] * len(kernel)
        lows = [gap * (size - 1) - one for gap, size, one in zip(dilation, kernel, padding, strict=True)]
        edges = [(low, low + more) for low, more in zip(lows, output_padding, strict=True)]
    x = F.pad(x, [one for edge in reversed(edges) for one in edge]).contiguous()
    extents = zip(x.shape[2:], stride, dilation, kernel, strict=True)
    out = [(size - gap * (width - 1) - 1) // step + 1 for size, step, gap, width in extents]
    strides = [s * gap for s, gap in zip(x.stride()[2:], dilation, strict=True)]
    strides += [s * step for s, step in zip(x.stride()[2:], stride, strict=True)]
    rows = weight.reshape(groups, weight.shape[0] // groups, -1)
    parts = []
    for part in x.split(max(1, _COLUMNS // (x.shape[1] * math.prod(kernel) * math.prod(out)))):
        unfolded = part.as_strided([*part.shape[:2], *kernel, *out], [*part.stride()[:2], *strides])
        parts.append(times(rows, unfolded.reshape(len(part) * groups, rows.shape[2], -1)).view(len(part), -1, *out))
    result = torch.cat(parts)
    return result if bias is None else result + bias.view(-1, *[1] * len(kernel))


def tf32_convolution(*given: Any) -> Any:
    """By tf32 products, where torch itself computes this one in tf32."""
    return convolution(tf32_product, *given) if _is_in_tf32(*given) else NotImplemented


def _is_in_tf32(*given: Any) -> bool:
    usual, saved = torch.ops.aten.convolution(*given), torch.backends.cudnn.allow_tf32
    torch.backends.cudnn.allow_tf32 = False
    try:
        strict = torch.ops.aten.convolution(*given)
    finally:
        torch.backends.cudnn.allow_tf32 = saved
    return bool((usual - strict).abs().max() > _TF32 * strict.abs().max())


def _spaced(x: torch.Tensor, stride: Sequence[int]) -> torch.Tensor:
    sizes = [(size - 1) * step + 1 for size, step in zip(x.shape[2:], stride, strict=True)]
    spaced = x.new_zeros(*x.shape[:2], *sizes)
    every: tuple[Any, ...] = tuple(slice(None, None, step) for step in stride)
    spaced[(..., *every)] = x
    return spaced


def _dims(x: torch.Tensor, dim: Any) -> list[int]:
    chosen = [dim] if isinstance(dim, int) else list(dim or range(x.dim()))
    return sorted({axis % max(1, x.dim()) for axis in chosen}) if x.dim() else []


def _mm(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return product(a[None], b[None])[0]


def _added(c: torch.Tensor, product_: torch.Tensor, beta: float = 1, alpha: float = 1) -> torch.Tensor:
    return (c * beta if beta else 0) + product_ * alpha


_aten = torch.ops.aten
SERIAL: Mapping[Any, Callable[..., Any]] = {
    _aten.mm: _mm,
    _aten.bmm: product,
    _aten.mv: lambda a, v: _mm(a, v[:, None])[:, 0],
    _aten.dot: lambda a, v: _mm(a[None], v[:, None])[0, 0],
    _aten.addmm: lambda c, a, b, **scales: _added(c, _mm(a, b), **scales),
    _aten.addmv: lambda c, a, v, **scales: _added(c, _mm(a, v[:, None])[:, 0], **scales),
    _aten.baddbmm: lambda c, a, b, **scales: _added(c, product(a, b), **scales),
    _aten.convolution: functools.partial(convolution, product),
    _aten.sum: reduced,
    _aten.mean: mean,
    _aten.cumsum: running_sum,
    _aten.linalg_vector_norm: vector_norm,
    _aten.norm: vector_norm,
    _aten.var_mean: var_mean,
    _aten.var: lambda *given, **named: var_mean(*given, **named)[0],
    _aten.std: lambda *given, **named: var_mean(*given, **named)[0].sqrt(),
    _aten.logsumexp: logsumexp,
    _aten.native_batch_norm: batch_norm,
}
TF32: Mapping[Any, Callable[..., Any]] = {_aten.convolution: tf32_convolution}
_DECOMPOSED = get_decompositions(
    [
        _aten.native_layer_norm,
        _aten.native_group_norm,
        _aten._softmax,
        _aten._log_softmax,
        _aten.mse_loss,
        _aten.smooth_l1_loss,
        _aten.huber_loss,
    ]
)


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
