"""Run a reference with the plainest honest arithmetic: each sum in float32, one term after the other.

In the context `serially()`, products, convolutions, sums, means, norms and cumulative sums are replaced. A few sums are
added up on the host; many of more than 2^16 terms are taken in two levels. Convolutions are unfolded; their gradients
are left as they are.
"""

from __future__ import annotations

import contextlib
import functools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import numpy
import torch
import torch.nn.functional as F  # noqa: N812
from torch.nn.attention import SDPBackend, sdpa_kernel

from harness.referee.answers.operator_mode import OperatorMode

LONG = 2**16
"""The most terms that many sums take one after the other. Some kernels add up a million in one thread."""
FEW = 2**10
"""The most sums for which the host is quicker, with 4 ns a term, than a launch per term for all of them at once."""
_TERMS_ON_HOST = 2**28
"""The most terms that go to the host, which take about a second."""
_TERMS_OF_A_PIECE = 2**24
_COLUMNS = 2**28
"""The most elements of an unfolded input; larger inputs are divided."""
_MOST_ADDITIONS = {"cpu": 2**29, "cuda": 2**35}
"""The most additions of one operation, which take about a second; larger ones are left to torch."""

_HIDING = (
    *("native_layer_norm", "native_group_norm", "_fused_rms_norm", "_softmax", "_log_softmax", "_euclidean_dist"),
    *("native_layer_norm_backward", "native_group_norm_backward", "native_batch_norm_backward"),
    *("_softmax_backward_data", "_log_softmax_backward_data"),
    *("mse_loss", "smooth_l1_loss", "huber_loss", "soft_margin_loss"),
    *("nll_loss_forward", "nll_loss2d_forward", "binary_cross_entropy", "binary_cross_entropy_with_logits"),
)
"""Operations whose sums show when torch decomposes them; some torches have no _fused_rms_norm."""

Instead = Mapping[Any, Callable[..., Any]]
"""Functions by the operation of torch's that they replace; they may return NotImplemented for some arguments."""
Product = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
"""Multiplies `a` [groups, m, k] and `b` [batch, k, n]; item i of the batch takes group i modulo groups."""


class Recomputed(OperatorMode):
    """Context: compute operations on float32 tensors by what `instead` names for them, and count them in `count`."""

    def __init__(self, instead: Instead) -> None:
        super().__init__()
        self._instead = instead

    def __torch_dispatch__(self, func: Any, types: Any, args: Sequence[Any] = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        is_float32 = isinstance(args[0], torch.Tensor) and args[0].dtype is torch.float32 if args else False
        if is_float32 and "out" not in kwargs and kwargs.get("dtype") in (None, torch.float32):
            kwargs.pop("dtype", None)
            if torch.ops.aten.sum in self._instead and func in decomposed() and all(args[0].shape):
                # It may take fewer kinds of arguments, or find no memory: then torch's own sum stands, as for _TooMuch.
                with self, contextlib.suppress(RuntimeError):
                    return decomposed()[func](*args, **kwargs)
            if made := self._instead.get(func.overloadpacket):
                try:
                    found = made(*args, **kwargs)
                except _TooMuch:
                    found = NotImplemented
                if found is not NotImplemented:
                    self.count += 1
                    return found
        return func(*args, **kwargs)


class _TooMuch(Exception):
    """An operation whose additions would take minutes."""


@contextmanager
def serially(sums: SerialSums | None = None) -> Iterator[Recomputed]:
    """Context: take sums by `sums`, with fused operations that would hide one switched off."""
    with unfused(), Recomputed((sums or SerialSums()).instead()) as mode:
        yield mode


@contextmanager
def unfused() -> Iterator[None]:
    """Context: fused operations that hide others are switched off."""
    fast, cudnn = torch.backends.mha.get_fastpath_enabled(), torch.backends.cudnn.enabled
    with ExitStack() as stack:
        stack.callback(torch.backends.mha.set_fastpath_enabled, fast)
        stack.callback(setattr, torch.backends.cudnn, "enabled", cudnn)
        torch.backends.mha.set_fastpath_enabled(False)
        torch.backends.cudnn.enabled = False
        stack.enter_context(sdpa_kernel(SDPBackend.MATH))
        yield


class SerialSums:
    """Torch's operations with their sums taken term by term; a subclass may be quicker."""

    def instead(self) -> Instead:
        """Every operation of torch's with a sum, and what computes it."""
        aten = torch.ops.aten
        return {
            aten.mm: self.mm,
            aten.bmm: self.product,
            aten.mv: lambda a, v: self.mm(a, v[:, None])[:, 0],
            aten.dot: lambda a, v: self.mm(a[None], v[:, None])[0, 0],
            aten.addmm: lambda c, a, b, **scales: _added(c, self.mm(a, b), **scales),
            aten.addmv: lambda c, a, v, **scales: _added(c, self.mm(a, v[:, None])[:, 0], **scales),
            aten.baddbmm: lambda c, a, b, **scales: _added(c, self.product(a, b), **scales),
            aten.convolution: functools.partial(convolution, self.product),
            aten.sum: self.reduced,
            aten.mean: self.mean,
            aten.cumsum: self.running_sum,
            aten.linalg_vector_norm: self.vector_norm,
            aten.norm: self.vector_norm,
            aten.var_mean: self.var_mean,
            aten.var: lambda *given, **named: self.var_mean(*given, **named)[0],
            aten.std: lambda *given, **named: self.var_mean(*given, **named)[0].sqrt(),
            aten.logsumexp: self.logsumexp,
            aten.native_batch_norm: self.batch_norm,
        }

    def add_products(self, a: torch.Tensor, b: torch.Tensor, result: torch.Tensor) -> None:
        """Add the product of contiguous `a` and `b`, shaped as Product says, to [batch, m, n]."""
        _require_few(result.numel() * a.shape[2], a.device)
        a = a if len(a) == len(b) else a.repeat(len(b) // len(a), 1, 1)
        if are_few(result.numel(), a.shape[2]):
            length = _TERMS_OF_A_PIECE // result.numel()
            pieces = zip(torch.split(a, length, 2), torch.split(b.transpose(1, 2), length, 2), strict=True)
            result += added_on_host(one[:, :, None] * other[:, None] for one, other in pieces)
            return
        for j in range(a.shape[2]):
            result.addcmul_(a[:, :, j : j + 1], b[:, j : j + 1])

    def add_terms(self, x: torch.Tensor, result: torch.Tensor) -> None:
        """Sum [outer, length, inner] over its length and add that to [outer, inner]."""
        _require_few(x.numel(), x.device)
        if are_few(result.numel(), x.shape[1]):
            result += added_on_host(torch.split(x.transpose(1, 2), _TERMS_OF_A_PIECE // result.numel(), 2))
            return
        for j in range(x.shape[1]):
            result += x[:, j]

    def add_up(self, x: torch.Tensor) -> None:
        """Turn a contiguous tensor into its running sums over dimension 1, in place."""
        _require_few(x.numel(), x.device)
        if are_few(x.numel() // max(1, x.shape[1]), x.shape[1]):
            x.copy_(torch.from_numpy(_running(x.movedim(1, -1))).movedim(-1, 1))
            return
        for j in range(1, x.shape[1]):
            x[:, j] += x[:, j - 1]

    def mm(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return self.product(a[None], b[None])[0]

    def product(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        (groups, m, k), (batch, _, n) = a.shape, b.shape
        if k > LONG and not are_few(batch * m * n, k):
            pieces = math.isqrt(k - 1) + 1
            a, b = F.pad(a, (0, -k % pieces)), F.pad(b, (0, 0, 0, -k % pieces))
            a = a.view(groups, m, pieces, -1).transpose(1, 2).reshape(groups * pieces, m, -1)
            parts = self.product(a, b.reshape(batch * pieces, -1, n))
            return self.sum_of(parts.view(batch, pieces, m * n)).view(batch, m, n)
        a, b = a.contiguous(), b.contiguous()
        result = a.new_zeros(batch, m, n)
        if result.numel():
            self.add_products(a, b, result)
        return result

    def sum_of(self, x: torch.Tensor) -> torch.Tensor:
        """Sum [outer, length, inner] over its length."""
        outer, length, inner = x.shape
        if length > LONG and not are_few(outer * inner, length):
            pieces = math.isqrt(length - 1) + 1
            parts = F.pad(x, (0, 0, 0, -length % pieces)).reshape(outer * pieces, -1, inner)
            return self.sum_of(self.sum_of(parts).view(outer, pieces, inner))
        result = x.new_zeros(outer, inner)
        if x.numel():
            self.add_terms(x.contiguous(), result)
        return result

    def running_sum(self, x: torch.Tensor, dim: int) -> torch.Tensor:
        moved = x.movedim(dim, 1) if x.dim() > 1 else x.unsqueeze(0)
        result = moved.clone(memory_format=torch.contiguous_format)
        self.add_up(result)
        return result.movedim(1, dim) if x.dim() > 1 else result[0]

    def reduced(self, x: torch.Tensor, dim: Any = None, keepdim: bool = False) -> torch.Tensor:
        """Sum over these dimensions, all by default."""
        over = _dims(x, dim)
        kept = [axis for axis in range(x.dim()) if axis not in over]
        first = x.permute([*over, *kept]).reshape(1, math.prod(x.shape[axis] for axis in over), -1)
        shape = [1 if axis in over else size for axis, size in enumerate(x.shape) if keepdim or axis not in over]
        return self.sum_of(first).view(shape)

    def mean(self, x: torch.Tensor, dim: Any = None, keepdim: bool = False) -> torch.Tensor:
        return self.reduced(x, dim, keepdim) / math.prod(x.shape[axis] for axis in _dims(x, dim))

    def vector_norm(self, x: torch.Tensor, order: Any = 2, dim: Any = None, keepdim: bool = False) -> Any:
        if order not in (1, 2):
            return NotImplemented
        return self.reduced(x.abs(), dim, keepdim) if order == 1 else self.reduced(x * x, dim, keepdim).sqrt()

    def var_mean(
        self, x: torch.Tensor, dim: Any = None, correction: Any = 1, keepdim: bool = False
    ) -> tuple[torch.Tensor, ...]:
        """Variance and mean, in two passes or in one (E[x²] − E[x]²), whichever errs more.

        One pass loses digits where the mean is large against the spread, two where all terms are equal.
        """
        middle = self.mean(x, dim, True)
        count = math.prod(x.shape[axis] for axis in _dims(x, dim))
        in_two = self.reduced((x - middle).square(), dim, True)
        in_one = (self.reduced(x * x, dim, True) - count * middle.square()).clamp(min=0)
        exact = x.double().var(dim, correction=0, keepdim=True) * count
        worse = torch.where((in_one - exact).abs() > (in_two - exact).abs(), in_one, in_two)
        spread = worse / (count - (1 if correction is None else correction))
        return (spread, middle) if keepdim else (self.reduced(spread, dim), self.reduced(middle, dim))

    def logsumexp(self, x: torch.Tensor, dim: Any, keepdim: bool = False) -> torch.Tensor:
        largest = x.amax(dim, True)
        return self.reduced((x - largest).exp(), dim, keepdim).log() + (largest if keepdim else x.amax(dim))

    def batch_norm(
        self, x: torch.Tensor, weight: Any, bias: Any, running_mean: Any, running_var: Any, training: bool, *rest: Any
    ) -> Any:
        """Normalise in training, as instance_norm() does; otherwise there is no sum in it."""
        if not training:
            return NotImplemented
        spread, middle = self.var_mean(x, [0, *range(2, x.dim())], 0, True)
        shape = [1, -1, *[1] * (x.dim() - 2)]
        scaled = (x - middle) / (spread + rest[-1]).sqrt()
        scaled = scaled if weight is None else scaled * weight.view(shape)
        return scaled if bias is None else scaled + bias.view(shape), middle.flatten(), spread.flatten()


def are_few(sums: int, terms: int) -> bool:
    """Say whether so many sums are added up on the host."""
    return sums <= FEW and sums * terms <= _TERMS_ON_HOST


def added_on_host(pieces: Iterable[torch.Tensor]) -> torch.Tensor:
    """Sum over the last dimension, of which these are consecutive pieces, term by term in float32."""
    total: Any = numpy.float32(0)
    for piece in pieces:
        total = _running(piece, total)[..., -1].copy()
    return torch.from_numpy(total).to(piece.device)


def _running(terms: torch.Tensor, before: Any = numpy.float32(0)) -> Any:
    """The running sums over the last dimension, on from the sums `before`."""
    values = terms.detach().cpu().numpy().copy()
    with numpy.errstate(all="ignore"):
        values[..., :1] += numpy.expand_dims(before, -1)
        return numpy.add.accumulate(values, axis=-1, out=values)


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
    """Compute aten.convolution: unfold, then multiply. A transposed one is that of the input with zeros between."""
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
    for part in torch.split(x, max(1, _COLUMNS // (x.shape[1] * math.prod(kernel) * math.prod(out)))):
        unfolded = part.as_strided([*part.shape[:2], *kernel, *out], [*part.stride()[:2], *strides])
        parts.append(times(rows, unfolded.reshape(len(part) * groups, rows.shape[2], -1)).view(len(part), -1, *out))
    result = torch.cat(parts)
    return result if bias is None else result + bias.view(-1, *[1] * len(kernel))


def _spaced(x: torch.Tensor, stride: Sequence[int]) -> torch.Tensor:
    sizes = [(size - 1) * step + 1 for size, step in zip(x.shape[2:], stride, strict=True)]
    spaced = x.new_zeros(*x.shape[:2], *sizes)
    every: tuple[Any, ...] = tuple(slice(None, None, step) for step in stride)
    spaced[(..., *every)] = x
    return spaced


def _dims(x: torch.Tensor, dim: Any) -> list[int]:
    chosen = [dim] if isinstance(dim, int) else list(dim or range(x.dim()))
    return sorted({axis % max(1, x.dim()) for axis in chosen}) if x.dim() else []


def _added(c: torch.Tensor, product_: torch.Tensor, beta: float = 1, alpha: float = 1) -> torch.Tensor:
    return (c * beta if beta else 0) + product_ * alpha


def _require_few(additions: int, device: torch.device) -> None:
    """Raise _TooMuch for more additions than the device is given."""
    if additions > _MOST_ADDITIONS[device.type]:
        raise _TooMuch


@functools.cache
def decomposed() -> dict[Any, Callable[..., Any]]:
    """Operations whose sums show when torch decomposes them. Importing the decompositions takes seconds."""
    from torch._decomp import get_decompositions

    return get_decompositions([getattr(torch.ops.aten, name) for name in _HIDING if hasattr(torch.ops.aten, name)])
