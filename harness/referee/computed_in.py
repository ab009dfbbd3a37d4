"""The arithmetic that a solution's results show, whatever it declares.

Operands rounded to a cheaper format move the right answer in a direction of their own. A solution that rounds them so
errs by about that much along it; one that doesn't, by next to nothing, since errors of sums point elsewhere. Inputs of
few terms with full mantissas show it best (variants.py). The tanh of an approximated GELU is found in the same way.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy
import torch

from harness.model.check import Check
from harness.referee.answers.operator_mode import OperatorMode
from harness.referee.answers.oracle import copied, count_elements
from harness.referee.answers.roundings import (
    ROUNDINGS,
    RoundedProducts,
    RoundedResults,
    RoundedSums,
    Rounding,
    TooManySteps,
    answer_with_rounded,
    to_and_back,
)
from harness.referee.answers.tf32 import cut_to_tf32
from harness.referee.setting import Setting
from harness.referee.tolerance import rms

_EXAMINED = 2**16
"""Elements of each output that are looked at, where rows are independent."""
_MOST_ELEMENTS = 2**24
"""The size of inputs and outputs above which a case whose rows depend on each other isn't asked."""


def _scaled_to(dtype: torch.dtype, dim: int | None = None) -> Rounding:
    """The rounding of a tensor whose largest element, of all or along a dimension, is scaled to the format's."""
    most, rounded = torch.finfo(dtype).max, to_and_back(dtype)

    def rounding(value: torch.Tensor) -> torch.Tensor:
        wide = value.double()
        if not wide.numel():
            return value
        largest = wide.abs().amax() if dim is None else wide.abs().amax(dim, keepdim=True)
        scale = most / largest.clamp(min=_LEAST)
        return rounded(wide * scale).div(scale).to(value.dtype)

    return rounding


def _of_eight_bits(dtype: torch.dtype) -> tuple[Rounding | tuple[Rounding, Rounding], ...]:
    """The roundings without a scale, with one a tensor, and with one for each sum's operand."""
    return to_and_back(dtype), _scaled_to(dtype), (_scaled_to(dtype, -1), _scaled_to(dtype, -2))


def _cut(value: torch.Tensor) -> torch.Tensor:
    return cut_to_tf32(value.float()).to(value.dtype)


_LEAST = 2.0**-100
_ROUNDINGS: dict[str, tuple[Rounding | tuple[Rounding, Rounding], ...]] = {
    **{name: (rounding,) for name, rounding in ROUNDINGS.items()},
    "tf32": (ROUNDINGS["tf32"], _cut),
    "float8_e4m3": _of_eight_bits(torch.float8_e4m3fn),
    "float8_e5m2": _of_eight_bits(torch.float8_e5m2),
}
CHEAPER = {
    "float64": ("bfloat16", "tf32", "float32"),
    "float32": ("bfloat16", "tf32"),
    "tf32": ("bfloat16", "tf32"),
    "float16": ("float8_e5m2", "float8_e4m3", "bfloat16"),
    "bfloat16": ("float8_e5m2", "float8_e4m3"),
}
"""The formats that are looked for, by the problem's precision, the coarsest first. Float16 has the mantissa of tf32,
and its results where it has the range."""
_SUMS = ("bfloat16", "float16")
"""The formats in which sums of products may be kept, unless the problem's precision is float64."""
_STEPS = (1, 16)
"""The numbers of terms after which such a sum is rounded: a loop's, and those of an instruction of tensor cores."""
_MOST_TERMS, _MOST_STEPS = 2**13, 2**14
"""Longer sums, and the roundings beyond which a reference of many products isn't asked: a second of a GPU's."""
_OPERANDS = ((0, 1), (0,), (1,))
"""The operands of products that a solution may round: both, or one of them."""
_SHOWN, _ABSENT, _NOTHING = 0.4, 0.1, 2.0**-7
"""The part of a rounding's whole effect that shows it, up to its inverse, and the part below which it isn't there.
Formats next to each other lie eightfold apart, but for those of eight bits. Below the last no sum is rounded either."""
_EXPLAINED = 0.5
"""The share of an error that a rounding which explains it leaves at most."""
_FEWEST = 16
"""Elements below which an error has hardly a direction."""


@dataclass(frozen=True)
class _Seen:
    """Some rows of a call: its inputs, their right answers, and what the outputs err by. `wrong`: places of elements
    outside the tolerance; what explains a failure explains them as well."""

    inputs: Sequence[Any]
    want: tuple[torch.Tensor, ...]
    error: torch.Tensor
    wrong: Sequence[int] = ()

    def is_explained_by(self, moved: torch.Tensor) -> bool:
        """Say whether the error has about so much of an effect, and little else."""
        part = float(self.error @ moved) / max(_LEAST, float(moved @ moved))
        rest = self.error - moved
        are_alike = [float(rest.norm()) < _EXPLAINED * float(self.error.norm())]
        are_alike += [float(rest[at].abs()) < _EXPLAINED * float(self.error[at].abs()) for at in self.wrong]
        return all(are_alike) and _SHOWN < part < 1 / _SHOWN and self.error.numel() >= _FEWEST


def computed_in(setting: Setting, inputs: Sequence[Any], outputs: Sequence[torch.Tensor]) -> str | None:
    """Name the arithmetic that outputs for these inputs show: one cheaper than the problem's precision, or that; None
    where they show neither."""
    with suppress(Exception):  # the problem runs in formats that it wasn't written for, and nothing hangs on the name
        seen = _seen(setting, inputs, outputs)
        coarse = [float(one.norm()) for one in _effects(setting, seen, CHEAPER[setting.precision][-1], _OPERANDS[:1])]
        error, own = float(seen.error.norm()), "float32" if setting.precision == "tf32" else setting.precision
        if all(error < _NOTHING * effect for effect in coarse):
            return own
        if all(error < _ABSENT * effect for effect in coarse):
            return _summed_in(setting, seen) or own
        return _rounded_to(setting, seen) or _summed_in(setting, seen)
    return None


def what_explains(setting: Setting, inputs: Sequence[Any], outputs: Sequence[torch.Tensor], check: Check) -> str | None:
    """Say what explains the errors of wrong outputs, about the first elements that a check found; None where nothing
    does that is known here."""
    with suppress(Exception):  # as above
        seen = _seen(setting, inputs, outputs, check)
        if (name := _rounded_to(setting, seen)) not in (None, setting.precision):
            return f"operands rounded to {name} explain it"
        if (name := _summed_in(setting, seen)) is not None:
            return f"{name} explain it"
        with _TanhForErf() as replaced:
            approximated = setting.oracle.answer(copied(seen.inputs), may_turn=False)
        if replaced.count and seen.is_explained_by(_difference(approximated, seen.want)):
            return "tanh in place of erf in a GELU explains it"
    return None


def _seen(
    setting: Setting, inputs: Sequence[Any], outputs: Sequence[torch.Tensor], check: Check | None = None
) -> _Seen:
    """Look at the first rows, or at those about the first wrong element of a check. Raises: ValueError where there are
    too many elements, and where errors there aren't finite numbers."""
    is_whole = setting.oracle.rows(inputs) is None
    if is_whole and count_elements(inputs, setting.spec) > _MOST_ELEMENTS:
        raise ValueError("too many elements, whose rows depend on each other")
    wrong = next((one.index for output in check.outputs for one in output.first_mismatches), ()) if check else ()
    row = wrong[0] if wrong else 0
    some = inputs if is_whole else setting.some_rows(inputs, _EXAMINED, row)
    want = setting.lessons.runs.take(some, "answer", lambda: setting.oracle.answer(copied(some), may_turn=False))
    pairs = list(zip(outputs, want, strict=True))
    starts = [min(row, len(output) - len(right)) if right.dim() else 0 for output, right in pairs]
    got = [
        output[start : start + len(right)] if right.dim() else output
        for (output, right), start in zip(pairs, starts, strict=True)
    ]
    error = _difference(got, want) - _difference(setting.rounded(want), want)  # results are rounded anyway
    return _Seen(some, want, error, _places(check, want, starts) if check else ())


def _places(check: Check, want: Sequence[torch.Tensor], starts: Sequence[int]) -> list[int]:
    """The places of a check's first wrong elements among all that _difference() gives for these rows. Raises:
    ValueError where one of them isn't a finite number."""
    places, before = [], 0
    for output, right, start in zip(check.outputs, want, starts, strict=True):
        for one in output.first_mismatches:
            index = (one.index[0] - start, *one.index[1:]) if one.index else ()
            if not right.is_floating_point() or not math.isfinite(one.got) or not math.isfinite(one.want):
                raise ValueError("no difference of finite numbers")
            if not index or index[0] < len(right):
                places.append(before + int(numpy.ravel_multi_index(index, right.shape)))
        before += right.numel() if right.is_floating_point() else 0
    return places


class _TanhForErf(OperatorMode):
    """Context: each GELU is its usual approximation by tanh; `count` says how many there were."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func in (torch.ops.aten.gelu.default, torch.ops.aten.gelu_.default) and not kwargs:
            self.count += 1
            kwargs = {"approximate": "tanh"}
        return func(*args, **(kwargs or {}))


def _rounded_to(setting: Setting, seen: _Seen) -> str | None:
    """The coarsest format to which operands were rounded."""
    for name in CHEAPER[setting.precision]:
        if any(map(seen.is_explained_by, _effects(setting, seen, name, _OPERANDS))):
            return name
    return None


def _summed_in(setting: Setting, seen: _Seen) -> str | None:
    """The format in which sums of products were kept, in words."""
    for name in () if setting.precision == "float64" else _SUMS:
        for step in _STEPS:
            with suppress(TooManySteps):
                sums = RoundedSums(ROUNDINGS[name], step, _MOST_TERMS, _MOST_STEPS)
                kept = _answer_in(sums, setting, seen, f"{name} sums {step}")
                if not kept:
                    return None
                moved = _difference(setting.rounded(kept), setting.rounded(seen.want))  # of half an output's last place
                if seen.is_explained_by(moved):
                    return f"sums in {name}"
    return None


def _effects(setting: Setting, seen: _Seen, name: str, operands: Sequence[tuple[int, ...]]) -> Iterator[torch.Tensor]:
    """Yield how far roundings to a format move the right answer: of operands of products, or, without any, of all
    inputs and parameters."""
    for number, rounding in enumerate(_ROUNDINGS[name]):
        for which in operands:
            rounded = _answer_in(RoundedProducts(rounding, which), setting, seen, f"{name} {number} {which}")
            if not rounded:
                if not isinstance(rounding, tuple):
                    given = setting.oracle, setting.model
                    yield _difference(answer_with_rounded(rounding, *given, copied(seen.inputs)), seen.want)
                    with RoundedResults(rounding):
                        yield _difference(answer_with_rounded(rounding, *given, copied(seen.inputs)), seen.want)
                break
            yield _difference(rounded, seen.want)


def _answer_in(
    mode: RoundedSums | RoundedProducts, setting: Setting, seen: _Seen, way: str
) -> tuple[torch.Tensor, ...]:
    """The right answer as a mode changes it; empty where it has nothing to change."""

    def answer() -> tuple[torch.Tensor, ...]:
        with mode:
            found = setting.oracle.answer(copied(seen.inputs), may_turn=False)
        return found if mode.count else ()

    return setting.lessons.runs.take(seen.inputs, way, answer)


def _difference(got: Sequence[torch.Tensor], want: Sequence[torch.Tensor]) -> torch.Tensor:
    """The differences from the right values, of all floating outputs in units of their size; 0 where either isn't
    finite."""
    found = []
    for one, right in zip(got, want, strict=True):
        if right.is_floating_point():
            apart = one.to(right.device).double() - right
            found.append((apart / (rms(right) or 1.0)).nan_to_num(0.0, 0.0, 0.0).flatten())
    return torch.cat(found) if found else torch.zeros(1, dtype=torch.float64)
