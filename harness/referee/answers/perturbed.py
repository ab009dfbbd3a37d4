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
from torch.utils._pytree import tree_leaves
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
_SCALING = {_aten.mul, _aten.div, _aten.mul_, _aten.div_}
_MOVING = {
    *(_aten._to_copy, _aten.clone, _aten._unsafe_view, _aten.cat, _aten.stack, _aten.index, _aten.index_select),
    *(_aten.gather, _aten.embedding, _aten.repeat, _aten.constant_pad_nd, _aten.where, _aten.masked_fill),
    *(_aten.flip, _aten.roll, _aten.tril, _aten.triu, _aten.neg, _aten.abs, _aten.relu),
}
"""Operations whose results are numbers that they were given, but for zeros and signs."""
_SHARED = 8
"""The least number of values of float8 that have one scale."""
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
    their terms, and convolutions as far as tf32 errs; results in half precision by a unit; divisions by tensors, or by
    constants, too, multiply by reciprocals."""

    units: float = 0.0
    rounds_halves: bool = False
    by_reciprocals: bool = False
    of_constants: bool = False

    def multiplies_by_reciprocal_of(self, divisor: Any) -> bool:
        return self.by_reciprocals and (is_floating(divisor) or self.of_constants)

    @property
    def is_noisy(self) -> bool:
        return self.units > 0 or self.rounds_halves


_KINDS = (
    *(_KernelKind(8.0, rounds_halves=True), _KernelKind(8.0, rounds_halves=True)),
    *(_KernelKind(by_reciprocals=True), _KernelKind(rounds_halves=True, by_reciprocals=True, of_constants=True)),
    *(_KernelKind(8.0), _KernelKind()),
)


def is_noisy(seed: int) -> bool:
    """Say whether results are off at random as_kernels_choose()."""
    return _KINDS[seed % len(_KINDS)].is_noisy


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
        if isinstance(args[0], torch.Tensor) and written is not None and written.is_write:  # such as x *= y
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
        if func is _aten.div.Tensor and is_floating(args[0]) and self._kind.multiplies_by_reciprocal_of(args[1]):
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
        squares = _in_double(packet, [one.double() ** 2 if is_floating(one) else one for one in args], kwargs)
        size = result.abs() + squares.abs().sqrt() / (terms**0.5 if packet is _aten.mean else 1.0)
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
        floating = list(filter(is_floating, tree_leaves(args)))
        if packet in _PRODUCTS and all(map(self._holds_float8, floating[-2:])):
            self.count += 1
            return self._off(result, floating[-2], floating[-1], abs(kwargs.get("alpha", 1)))
        if self._keeps_float8(func, floating, result):
            self._multiples.update((one, True) for one in filter(is_floating, tree_leaves(result)))
        return result

    def _off(self, result: torch.Tensor, left: torch.Tensor, right: torch.Tensor, factor: float) -> torch.Tensor:
        left, right = left.double(), right.double()
        size = factor * ((left @ right).abs() + (left**2 @ right**2).sqrt())
        noise = _noise(result.float(), self._seed).clamp(min=-1 + 2**-23).erfinv() * 2**0.5
        off = (result + noise * size * _UNIT_OF_FLOAT8_SUMS).to(result.dtype)
        return torch.where(result.isfinite(), off, result)

    def _keeps_float8(self, func: Any, floating: Sequence[torch.Tensor], result: Any) -> bool:
        """Say whether a result holds float8 numbers, or multiples of them, as all `floating` operands do."""
        packet, given = func.overloadpacket, [self._holds_float8(one) for one in floating]
        if packet in _SCALING:
            return any(given) and all(held or _is_scale(one, result) for one, held in zip(floating, given, strict=True))
        if packet is _aten.copy_:
            return given[-1:] == [True]
        shared = func._schema.returns[0].alias_info if func._schema.returns else None
        moves = packet in _MOVING or (shared is not None and not shared.is_write)
        return moves and any(given) and all(held or not one.dim() for one, held in zip(floating, given, strict=True))

    def _holds_float8(self, tensor: torch.Tensor) -> bool:
        return tensor.dtype in FLOAT8 or tensor in self._multiples


def _is_scale(factor: torch.Tensor, result: torch.Tensor) -> bool:
    """Say whether one factor counts for many numbers, as a scale of float8's does."""
    if factor.numel() < result.numel():
        return True
    different: torch.Tensor = factor.unique()  # type: ignore[no-untyped-call]
    return _SHARED * different.numel() <= factor.numel()


def _noise(values: torch.Tensor, seed: int) -> torch.Tensor:
    """Numbers from -1 to 1 by the bits of these values and the seed, so that ties stay (the mixing of C. Wellons'
    hash-prospector)."""
    mixed = values.contiguous().view(_BITS[values.itemsize]).to(torch.int32) + seed * 0x9E3779
    for shift, factor in ((16, 0x21F0AAAD), (15, 0x735A2D97)):
        mixed = (mixed ^ (mixed >> shift)) * factor
    return (mixed >> 8).to(torch.float32) / 2**23


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
