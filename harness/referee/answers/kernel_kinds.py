"""Run a reference with the errors of one kind of honest kernel, so that what that kind may choose is chosen.

Many errors at once hide what a single one leads to, such as multiplying by a reciprocal.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils.flop_counter import flop_registry

from harness.referee.answers.float8_sums import Float8Sums
from harness.referee.answers.perturbed import UNITS, Perturbed, cast, is_integer, is_rounded, noise
from harness.referee.answers.rows import is_floating
from harness.referee.answers.serial_sums import unfused
from harness.referee.answers.uncast import HALVES

_aten = torch.ops.aten
_DIVISIONS = {_aten.div.Tensor, _aten.div_.Tensor}
_COUNTING = {_aten.sum, _aten.cumsum, _aten.count_nonzero}
_CONVOLUTIONS = {_aten.convolution, _aten._convolution, _aten.cudnn_convolution}
_SUMS = {_aten.sum, _aten.mean, _aten.cumsum, _aten.mm, _aten.bmm, _aten.addmm, _aten.baddbmm, *_CONVOLUTIONS}
_FEW_TERMS = 64
"""The number of terms whose sum is off as other results are; by the square root of how many times as many, more."""
_UNITS_OF_TF32 = 2.0**14
"""The most that cutting both operands to tf32 costs a product, in units of float32's last place."""


@dataclass(frozen=True)
class KernelKind:
    """The errors of a kind of kernel: results in float32 are off by so many `units` in the last place, sums by units of
    their terms, and convolutions as far as tf32 errs; results in half precision by a unit; divisions by tensors, or by
    constants, too, multiply by reciprocals, which are off by so many units as well."""

    units: float = 0.0
    rounds_halves: bool = False
    by_reciprocals: bool = False
    of_constants: bool = False
    units_of_reciprocals: float = 0.0

    def multiplies_by_reciprocal_of(self, divisor: Any) -> bool:
        return self.by_reciprocals and (is_floating(divisor) or self.of_constants)


NOISY = KernelKind(8.0, rounds_halves=True)
_FAST = KernelKind(by_reciprocals=True, units_of_reciprocals=2.0)
"""Fast division (CUDA C++ Programming Guide, Intrinsic Functions; Triton's 1 / x)."""
KERNEL_KINDS = (
    *(NOISY, _FAST, KernelKind(by_reciprocals=True)),
    *(_FAST, KernelKind(rounds_halves=True, by_reciprocals=True, of_constants=True)),
    *(_FAST, KernelKind(8.0), KernelKind()),
)
"""The kinds in the order of runs. One reciprocal counts for a whole row, so that fewest runs of fast division are alike
and most are made."""


@contextmanager
def as_kernels_choose(kind: KernelKind, seed: int) -> Iterator[None]:
    """Context: results are off as those of this kind of kernel are, and sums of float8 as tensor cores' are. Exact
    results stay, unless they are quotients."""
    with unfused(), _PerturbedForChoices(kind, seed), Float8Sums(seed):
        yield


class _PerturbedForChoices(Perturbed):
    def __init__(self, kind: KernelKind, seed: int) -> None:
        super().__init__(seed, kind.units)
        self._kind = kind

    def __torch_dispatch__(self, func: Any, types: Any, args: Sequence[Any] = (), kwargs: Any = None) -> Any:
        is_division = func in _DIVISIONS and is_floating(args[0])
        if not is_division or not self._kind.multiplies_by_reciprocal_of(args[1]):
            return super().__torch_dispatch__(func, types, args, kwargs)
        quotient = self._by_reciprocal(*args)
        return quotient if func is _aten.div.Tensor else args[0].copy_(quotient)

    def _by_reciprocal(self, dividend: torch.Tensor, divisor: Any) -> torch.Tensor:
        quotient = dividend / divisor
        computed_in = torch.float32 if quotient.dtype in HALVES else quotient.dtype
        reciprocal = torch.as_tensor(divisor, dtype=computed_in, device=quotient.device).reciprocal()
        if not self._kind.units_of_reciprocals or computed_in is not torch.float32:
            return (dividend * reciprocal).to(quotient.dtype)
        units = noise(reciprocal, self._seed) * self._kind.units_of_reciprocals
        product = (dividend * (reciprocal * (1 + units * UNITS[torch.float32]))).to(quotient.dtype)
        return torch.where(quotient.abs() == 1, quotient, product)  # or who gives zeros would be right about x / x >= 1

    def _makes_indices(self, packet: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
        """Say so of int8 as well once it is cast, and of truths that are cast or counted."""
        made = cast(packet, args, kwargs)
        if made is not None and made[0] in (torch.int8, torch.bool):
            return is_integer(made[1]) and made[1] is not torch.int8
        is_count = packet in _COUNTING and not args[0].is_floating_point()
        return is_count or (super()._makes_indices(packet, args, kwargs) and torch.int8 not in (made or ()))

    def _off(self, result: Any, func: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        packet = func.overloadpacket
        is_cast = packet is _aten._to_copy and result.dtype in HALVES
        if not isinstance(result, torch.Tensor) or result.dtype not in UNITS or not (is_cast or is_rounded(packet)):
            return result
        units = float(self._kind.rounds_halves) if result.dtype in HALVES else self._units
        last_places = result.abs() * (units * UNITS[result.dtype])
        if packet in _SUMS:
            last_places = last_places + self._of_terms(packet, args, kwargs, result)
        stays = ~result.isfinite()
        if not is_cast:
            stays |= _in_double(func, args, kwargs) == result
        off = (result + noise(result, self._seed) * last_places).to(result.dtype)
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
        return size * (units * UNITS[torch.float32])


def _in_double(func: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> torch.Tensor:
    """The result of an operation in float64."""
    wide = [one.double() if is_floating(one) else one for one in args]
    func = getattr(func, "overloadpacket", func)  # one with `out` has another form
    return func(*wide, **{name: value for name, value in kwargs.items() if name not in ("dtype", "out")})  # type: ignore[no-any-return]


def _terms(packet: Any, args: Sequence[Any], kwargs: Mapping[str, Any], result: torch.Tensor) -> float:
    """The number of terms of each sum."""
    if packet in flop_registry:
        return float(flop_registry[packet](*args, **kwargs, out_val=result)) / (2 * max(1, result.numel()))
    whole = args[0].shape[args[1]] * result.numel() if packet is _aten.cumsum else args[0].numel()
    return float(whole) / max(1, result.numel())
