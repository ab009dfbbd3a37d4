"""The arithmetic that a solution's results show, whatever it declares.

Operands rounded to a cheaper format move the right answer in a direction of their own. A solution that rounds them so
errs by about that much along it; one that doesn't, by next to nothing, since errors of sums point elsewhere. Inputs of
few terms with full mantissas show it best (variants.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import torch

from harness.referee.answers.oracle import copied, count_elements
from harness.referee.answers.roundings import ROUNDINGS, RoundedProducts, Rounding, answer_with_rounded, to_and_back
from harness.referee.setting import Setting
from harness.referee.tolerance import rms

_EXAMINED = 2**16
"""Elements of each output that are looked at, where rows are independent."""
_MOST_ELEMENTS = 2**24
"""The size of inputs and outputs above which a case whose rows depend on each other isn't asked."""


def _scaled_to(dtype: torch.dtype) -> Rounding:
    """The rounding of a tensor whose largest element is scaled to the format's."""
    most, rounded = torch.finfo(dtype).max, to_and_back(dtype)

    def rounding(value: torch.Tensor) -> torch.Tensor:
        wide = value.double()
        scale = most / wide.abs().amax().clamp(min=_LEAST) if wide.numel() else 1.0
        return rounded(wide * scale).div(scale).to(value.dtype)

    return rounding


def _cut_to_tf32(value: torch.Tensor) -> torch.Tensor:
    """Drop the bits that tensor cores don't read of a float32."""
    return (value.float().contiguous().view(torch.int32) & ~_NOT_READ).view(torch.float32).to(value.dtype)


_NOT_READ = 2**13 - 1
_LEAST = 2.0**-100
_ROUNDINGS = {
    **{name: (rounding,) for name, rounding in ROUNDINGS.items()},
    "tf32": (ROUNDINGS["tf32"], _cut_to_tf32),
    "float8_e4m3": (to_and_back(torch.float8_e4m3fn), _scaled_to(torch.float8_e4m3fn)),
    "float8_e5m2": (to_and_back(torch.float8_e5m2), _scaled_to(torch.float8_e5m2)),
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
_OTHERWISE = {"tf32": "float32"}
"""The name where nothing cheaper shows, if it isn't the problem's precision."""
_OPERANDS = ((0, 1), (0,), (1,))
"""The operands of products that a solution may round: both, or one of them."""
_SHOWN, _ABSENT = 0.4, 0.1
"""The part of a rounding's whole effect that shows it, up to its inverse, and the part below which it isn't there.
Formats next to each other lie eightfold apart, but for those of eight bits."""
_EXPLAINED = 0.5
"""The share of an error that a rounding which explains it leaves at most."""
_FEWEST = 16
"""Elements below which an error has hardly a direction."""


def computed_in(
    setting: Setting, inputs: Sequence[Any], outputs: Sequence[torch.Tensor], wrong_row: int | None = None
) -> str | None:
    """Name the arithmetic that outputs for these inputs show: one cheaper than the problem's precision, or that; None
    where they show neither. With a `wrong_row`, rows from there on are looked at, whose largest error must be explained
    as well: those of a kernel in tf32 that also races aren't."""
    precision = setting.precision
    row = wrong_row or 0
    if setting.oracle.rows(inputs, setting.spec) is None and count_elements(inputs, setting.spec) > _MOST_ELEMENTS:
        return None
    try:
        some = setting.some_rows(inputs, _EXAMINED, row)
        want = setting.oracle.answer(copied(some), may_turn=False)
        error = _difference(outputs, want, row) - _difference(setting.rounded(want), want)  # results are rounded anyway
        largest = None if wrong_row is None else int(error.abs().argmax())
        size = float(error.norm())
        moved = list(_effects(setting, some, want, CHEAPER[precision][-1], _OPERANDS[:1]))
        if all(size < _ABSENT * float(one.norm()) for one in moved):
            return _OTHERWISE.get(precision, precision)
        for name in CHEAPER[precision]:
            if any(_explains(one, error, largest) for one in _effects(setting, some, want, name, _OPERANDS)):
                return name
    except Exception:  # code of a problem's runs in a format that it wasn't written for, and nothing hangs on the name
        pass
    return None


def _effects(
    setting: Setting,
    inputs: Sequence[Any],
    want: Sequence[torch.Tensor],
    name: str,
    operands: Sequence[tuple[int, ...]],
) -> Iterator[torch.Tensor]:
    """Yield how far roundings to a format move the right answer: of operands of products, or, without any, of all
    inputs and parameters."""
    for rounding in _ROUNDINGS[name]:
        for which in operands:
            with RoundedProducts(rounding, which) as products:
                rounded = setting.oracle.answer(copied(inputs), may_turn=False)
            if not products.count:
                yield _difference(answer_with_rounded(rounding, setting.reference, setting.model, copied(inputs)), want)
                break
            yield _difference(rounded, want)


def _explains(moved: torch.Tensor, error: torch.Tensor, largest: int | None) -> bool:
    """Say whether an error has about so much of a rounding's effect, and little else; its `largest` element too."""
    part = float(error @ moved) / max(_LEAST, float(moved @ moved))
    is_alike = float((error - moved).norm()) < _EXPLAINED * float(error.norm())
    if largest is not None:
        is_alike &= float((error - moved)[largest].abs()) < _EXPLAINED * float(error[largest].abs())
    return is_alike and _SHOWN < part < 1 / _SHOWN and error.numel() >= _FEWEST


def _difference(got: Sequence[torch.Tensor], want: Sequence[torch.Tensor], row: int = 0) -> torch.Tensor:
    """The differences from the right values of some rows, those from `row` on as far as there are as many, of all
    outputs in units of their size; 0 where either isn't finite."""
    found = []
    for one, right in zip(got, want, strict=True):
        same = one[min(row, len(one) - len(right)) :][: len(right)] if right.dim() else one
        size = rms(right)
        if right.is_floating_point() and size:
            found.append(((same.to(right.device).double() - right) / size).nan_to_num(0.0, 0.0, 0.0).flatten())
    return torch.cat(found) if found else torch.zeros(1, dtype=torch.float64)
