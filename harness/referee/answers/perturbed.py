"""Run a reference with every rounded result a little off, as other honest formulas of the same function would have it.

What cancels depends on how results were rounded: softmax's weights add up to 1 if they were divided by their sum, and
less exactly if they come of its logarithm. Random errors in every result show how much an answer depends on that
(Parker 1997, Monte Carlo Arithmetic, UCLA CSD-970002; Vignes 1993, doi:10.1016/0378-4754(93)90003-D).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils.flop_counter import flop_registry
from torch.utils.weak import WeakTensorKeyDictionary

from harness.referee.answers.choices import FLOAT8
from harness.referee.answers.operator_mode import OperatorMode
from harness.referee.answers.rows import is_floating
from harness.referee.answers.serial_sums import decomposed, unfused
from harness.referee.answers.uncast import HALVES

_UNITS = {torch.float32: 2.0**-23, torch.float16: 2.0**-10, torch.bfloat16: 2.0**-7}
"""The last place of 1, by format."""
_ROUNDED = {
    *("add", "sub", "rsub", "mul", "div", "reciprocal", "addcmul", "addcdiv", "lerp", "sum", "mean", "cumsum", "prod"),
    *("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "logsumexp", "sqrt", "rsqrt", "pow", "tanh", "sigmoid"),
    *("erf", "erfc", "sin", "cos", "tan", "sinh", "cosh", "softplus", "gelu", "silu", "elu", "var", "var_mean", "norm"),
    *("linalg_vector_norm", "native_batch_norm", "cudnn_batch_norm", "dist", "hypot", "log_sigmoid_forward"),
}
"""Operations that round. Others, such as comparisons, maxima and copies, are exact everywhere."""
_ABORTING = ("binary_cross_entropy", "bernoulli", "multinomial")
"""Operations that abort the device where an input is a little outside of its range."""
_aten = torch.ops.aten
_SEARCHING = {_aten.bucketize, _aten.searchsorted}
_COUNTING = {_aten.sum, _aten.cumsum, _aten.count_nonzero}
_CONVOLUTIONS = {_aten.convolution, _aten._convolution, _aten.cudnn_convolution}
_SUMS = {_aten.sum, _aten.mean, _aten.cumsum, _aten.mm, _aten.bmm, _aten.addmm, _aten.baddbmm, *_CONVOLUTIONS}
_PRODUCTS = {_aten.mm, _aten.bmm, _aten.addmm, _aten.baddbmm}
_MULTIPLYING = {_aten._to_copy, _aten.clone, _aten.mul, _aten.div}
_FEW_TERMS = 64
"""The number of terms whose sum is off as other results are; by the square root of how many times as many, more."""
_UNIT_OF_FLOAT8_SUMS = 2.0**-12
"""The standard deviation of a tensor core's sum, of its size: 2^-13 where signs cancel, 2^-11 where all terms have one
(measured)."""
_UNITS_OF_TF32 = 2.0**14
"""The most that cutting both operands to tf32 costs a product, in units of float32's last place."""
_BITS = {4: torch.int32, 2: torch.int16}
"""The integers of as many bytes."""


class Untried(RuntimeError):
    """A run that could abort the device: an operation makes indices of perturbed numbers, or asks for probabilities."""


@contextmanager
def perturbed(seed: int, units: float) -> Iterator[None]:
    """Context: operations on float32 are decomposed, and each that rounds is off by up to so many units in the last
    place."""
    with unfused(), _Perturbed(seed, units):
        yield


@contextmanager
def as_kernels_choose(seed: int) -> Iterator[None]:
    """Context: results are off so that what honest kernels may choose is chosen: of one kind of kernel by one seed,
    since many errors at once hide what a single one leads to. Exact results stay."""
    with unfused(), _PerturbedForChoices(seed, _KINDS[seed % len(_KINDS)]), Float8Sums(seed):
        yield


@dataclass(frozen=True)
class _KernelKind:
    """The errors of a kind of kernel: results in float32 are off by so many `units` in the last place, sums by units of
    their terms, and convolutions as far as tf32 errs; results in half precision by a unit; divisions by tensors
    multiply by their reciprocals."""

    units: float
    rounds_halves: bool = False
    by_reciprocals: bool = False


_KINDS = (
    _KernelKind(8.0, rounds_halves=True),
    _KernelKind(0.0, by_reciprocals=True),
    _KernelKind(8.0),
    _KernelKind(0.0),
)


class _Perturbed(OperatorMode):
    def __init__(self, seed: int, units: float) -> None:
        super().__init__()
        self._seed = seed
        self._units = units

    def __torch_dispatch__(self, func: Any, types: Any, args: Sequence[Any] = (), kwargs: Any = None) -> Any:
        kwargs, packet = kwargs or {}, func.overloadpacket
        if self._makes_indices(packet, args, kwargs):
            raise Untried(str(packet))
        if not any(isinstance(value, torch.Tensor) and value.is_floating_point() for value in args):
            return func(*args, **kwargs)
        if any(name in str(packet) for name in _ABORTING):
            raise Untried(str(packet))
        is_float32 = isinstance(args[0], torch.Tensor) and args[0].dtype is torch.float32
        if made := (_OTHERWISE.get(packet) or decomposed().get(func)) if is_float32 else None:
            with self:
                return made(*args, **kwargs)
        written = func._schema.arguments[0].alias_info
        if written is not None and written.is_write:  # such as x *= y
            before = [args[0].clone(), *args[1:]]
            return args[0].copy_(self._off(func(*args, **kwargs), func, before, kwargs))
        result = func(*args, **kwargs)
        if isinstance(result, tuple):
            return tuple(self._off(one, func, args, kwargs) for one in result)
        return self._off(result, func, args, kwargs)

    def _makes_indices(self, packet: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
        """Say whether integers are made of numbers, and so perhaps of perturbed ones: by a unit in the last place they
        may lie outside of what they are an index into."""
        made = _cast(packet, args, kwargs)
        return packet in _SEARCHING or (made is not None and made[0].is_floating_point and _is_integer(made[1]))

    def _off(self, result: Any, func: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        is_number = isinstance(result, torch.Tensor) and result.dtype is torch.float32
        if not is_number or not _is_rounded(func.overloadpacket):
            return result
        return result * (1 + _noise(result, self._seed) * (self._units * _UNITS[torch.float32]))  # infinities stay


class _PerturbedForChoices(_Perturbed):
    def __init__(self, seed: int, kind: _KernelKind) -> None:
        super().__init__(seed, kind.units)
        self._kind = kind

    def __torch_dispatch__(self, func: Any, types: Any, args: Sequence[Any] = (), kwargs: Any = None) -> Any:
        if func is _aten.div.Tensor and self._kind.by_reciprocals and all(map(is_floating, args)):
            return args[0] * (1 / args[1])
        return super().__torch_dispatch__(func, types, args, kwargs)

    def _makes_indices(self, packet: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
        """Say so of int8 as well once it is cast, and of truths that are cast or counted."""
        made = _cast(packet, args, kwargs)
        if made is not None and made[0] in (torch.int8, torch.bool):
            return _is_integer(made[1]) and made[1] is not torch.int8
        is_count = packet in _COUNTING and not args[0].is_floating_point()
        return is_count or (super()._makes_indices(packet, args, kwargs) and torch.int8 not in (made or ()))

    def _off(self, result: Any, func: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        packet = func.overloadpacket
        is_cast = packet is _aten._to_copy and result.dtype in HALVES
        if not isinstance(result, torch.Tensor) or result.dtype not in _UNITS or not (is_cast or _is_rounded(packet)):
            return result
        units = float(self._kind.rounds_halves) if result.dtype in HALVES else self._units
        last_places = result.abs() * (units * _UNITS[result.dtype])
        if packet in _SUMS:
            last_places = last_places + self._of_terms(packet, args, kwargs, result)
        stays = ~result.isfinite()
        if not is_cast:
            stays |= _in_double(func, args, kwargs) == result
        off = (result + _noise(result, self._seed) * last_places).to(result.dtype)
        return torch.where(stays, result, off)

    def _of_terms(
        self, packet: Any, args: Sequence[Any], kwargs: Mapping[str, Any], result: torch.Tensor
    ) -> torch.Tensor:
        """The most by which a sum may be off for its terms, where these cancel."""
        terms = _terms(packet, args, kwargs, result)
        size = _size_of_sum(packet, args, kwargs, result, terms if packet is _aten.mean else 1.0)
        is_tf32 = packet in _CONVOLUTIONS and torch.backends.cudnn.allow_tf32
        units = _UNITS_OF_TF32 if is_tf32 else self._units * max(1.0, terms / _FEW_TERMS) ** 0.5
        return size * (units * _UNITS[torch.float32])


class Float8Sums(OperatorMode):
    """Context: matrix products of float8 numbers, and of multiples of them, are off as Hopper's tensor cores are, which
    keep about 14 bits of each sum of 128 terms (DeepSeek-V3 Technical Report, arXiv 2412.19437, section 3.3.2; an H200
    errs so, for 128 to 32,768 terms). `count` says how many there were."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self._seed = seed
        self._multiples = WeakTensorKeyDictionary()

    def __torch_dispatch__(self, func: Any, types: Any, args: Sequence[Any] = (), kwargs: Any = None) -> Any:
        kwargs, packet = kwargs or {}, func.overloadpacket
        result = func(*args, **kwargs)
        operands = [one for one in args if isinstance(one, torch.Tensor)]
        if packet in _PRODUCTS and all(map(self._holds_float8, operands[-2:])):
            self.count += 1
            noise = _noise(result.float(), self._seed).clamp(min=-1 + 2**-23).erfinv() * 2**0.5
            size = _size_of_sum(packet, args, kwargs, result)
            return (result + noise * size * _UNIT_OF_FLOAT8_SUMS).to(result.dtype)
        is_view = func._schema.returns and func._schema.returns[0].alias_info
        sources = operands if packet in _MULTIPLYING else operands[:1] if is_view else []
        if isinstance(result, torch.Tensor) and any(map(self._holds_float8, sources)):
            self._multiples[result] = True
        return result

    def _holds_float8(self, tensor: torch.Tensor) -> bool:
        return tensor.dtype in FLOAT8 or tensor in self._multiples


def _noise(values: torch.Tensor, seed: int) -> torch.Tensor:
    """Numbers from -1 to 1 by the bits of these values and the seed, so that ties stay (the mixing of C. Wellons'
    hash-prospector)."""
    mixed = values.contiguous().view(_BITS[values.itemsize]).to(torch.int32) + seed * 0x9E3779
    for shift, factor in ((16, 0x21F0AAAD), (15, 0x735A2D97)):
        mixed = (mixed ^ (mixed >> shift)) * factor
    return (mixed >> 8).to(torch.float32) / 2**23


def _size_of_sum(
    packet: Any, args: Sequence[Any], kwargs: Mapping[str, Any], result: torch.Tensor, divisor: float = 1.0
) -> torch.Tensor:
    """The sizes of sums, which may cancel: of the result and of the root of the sum of squared terms. `divisor`: of a
    mean, its count."""
    squares = _in_double(packet, [one * one if is_floating(one) else one for one in args], kwargs)
    size: torch.Tensor = squares.abs().sqrt() / divisor**0.5 + result.abs()
    return size


def _in_double(func: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> torch.Tensor:
    """The result of an operation in float64."""
    wide = [one.double() if is_floating(one) else one for one in args]
    return func(*wide, **{name: value for name, value in kwargs.items() if name not in ("dtype", "out")})  # type: ignore[no-any-return]


def _cast(packet: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[torch.dtype, torch.dtype] | None:
    """The formats from and to which an operation casts; None for others."""
    if packet is _aten._to_copy:
        return args[0].dtype, kwargs.get("dtype") or args[0].dtype
    return (args[1].dtype, args[0].dtype) if packet is _aten.copy_ else None


def _terms(packet: Any, args: Sequence[Any], kwargs: Mapping[str, Any], result: torch.Tensor) -> float:
    """The number of terms of each sum."""
    if packet in flop_registry:
        return float(flop_registry[packet](*args, **kwargs, out_val=result)) / (2 * max(1, result.numel()))
    whole = args[0].shape[args[1]] * result.numel() if packet is _aten.cumsum else args[0].numel()
    return float(whole) / max(1, result.numel())


def _is_integer(dtype: torch.dtype) -> bool:
    return not (dtype.is_floating_point or dtype.is_complex or dtype is torch.bool)


def _is_rounded(packet: Any) -> bool:
    return str(packet).rpartition(".")[2].rstrip("_") in _ROUNDED or packet in flop_registry


def _softmax(x: torch.Tensor, dim: int, *rest: Any) -> torch.Tensor:
    """Take softmax as kernels do that keep one number per row: weights add up to 1 as exactly as that is rounded."""
    total = x.logsumexp(dim, keepdim=True)
    return torch.where(total == -torch.inf, 0.0, (x - total).exp())


_OTHERWISE = {torch.ops.aten._softmax: _softmax, torch.ops.aten._safe_softmax: _softmax}
