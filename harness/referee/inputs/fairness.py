"""The fairness of a variant to a right kernel, and what a failure on it says: the reference decides both."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from harness.model.check import Tolerance
from harness.referee.answers.comparison import parts_of
from harness.referee.answers.oracle import copied
from harness.referee.answers.rows import is_floating
from harness.referee.inputs.variants import Variant
from harness.referee.setting import Setting
from harness.referee.tolerance import distance, rms

_FAIR = 0.5
"""The share of a tolerance in problem.yaml that the reference's own error may take: an honest solution sums in another
order and may err twice as much."""
_LEAST_RATIO, _LARGEST_RATIO = 2.0**-60, 2.0**120
_SCALING_ERROR = {"float64": 1e-9, "float32": 1e-5}
"""The relative error that scaling by a power of two may cause: the last bits of a sum in another order."""
_LARGEST_POWER = 1000
"""A larger power of two is no double."""
_HALF_BYTES = 2
_CHANGED_SHARE = 1 / 16
"""The share of the outputs that the few non-zero terms must change for a sparse variant to show anything."""

Answer = Callable[[], Sequence[torch.Tensor]]
"""Gives an answer of the oracle's."""


@dataclass(frozen=True)
class FairInputs:
    """The oracle's answer to inputs changed by a fair variant, with the tolerance of each output.

    `decides`: whether wrong values are a verdict; else they make a solution fragile.
    """

    want: tuple[torch.Tensor, ...]
    tolerances: tuple[Tolerance, ...]
    decides: bool


class _LosesValues(Exception):
    """The reference's answer isn't finite where it is without the variant."""


def fair_inputs(
    setting: Setting, variant: Variant, changed_by: Callable[[Variant], list[Any]], plain: Answer
) -> FairInputs | None:
    """Apply a variant; None where it is unfair, or would show nothing.

    A variant is fair where the reference gives finite values wherever it does so for the inputs as drawn, and where
    its own error leaves the tolerance telling. `changed_by` makes the same inputs anew and applies a variant to them.
    `plain` gives the oracle's answer without the variant: where it is large, there is no room to keep it. Large answers
    may lie on the host.

    Raises: InvalidProblem where the reference refuses the inputs.
    """

    def require_values(native: Sequence[torch.Tensor]) -> None:
        if variant.name not in ("infinite", "nan") and _loses_values(native, plain):
            raise _LosesValues

    inputs = changed_by(variant)
    try:
        if setting.problem.tolerance is None:
            want, evidence = setting.answer_with_evidence(inputs, require_values)
            if not all(one.is_telling for one in evidence):
                return None
            tolerances = tuple(one.tolerance for one in evidence)
        else:
            native = setting.oracle.native(copied(inputs))  # first, as for evidence
            require_values(native)
            want = setting.oracle.answer_anywhere(inputs)
            tolerances = _scaled(variant, setting.tolerances, plain(), want)
            if not _is_within(native, want, tolerances):
                return None
            del native  # what follows computes further answers
    except _LosesValues:
        return None
    if variant.is_sparse and not _shows_terms(setting, inputs, want):
        return None
    may_decide = not (variant.is_far and _are_halves(setting, inputs))
    del inputs
    return FairInputs(want, tolerances, may_decide and _decides(setting, variant, changed_by, plain, want))


def _loses_values(native: Sequence[torch.Tensor], plain: Answer) -> bool:
    """Say whether values aren't finite here that are without the variant; `plain` takes its time."""
    if all(bool(got.isfinite().all()) for got in native):
        return False
    pairs = zip(native, plain(), strict=True)
    return any(bool((one.isfinite().to(got.device) & ~got.isfinite()).any()) for got, one in pairs)


def _scaled(
    variant: Variant, tolerances: Sequence[Tolerance], base: Sequence[torch.Tensor], changed: Sequence[torch.Tensor]
) -> tuple[Tolerance, ...]:
    """Scale absolute tolerances with the oracle's outputs: the same demand on precision at any scale.

    They shrink only where the inputs are merely rescaled: otherwise small outputs may come of terms that cancel, whose
    errors stay.
    """
    least = _LEAST_RATIO if variant.name == "rescaled" else 1.0
    scaled = []
    for tolerance, plain, other in zip(tolerances, base, changed, strict=True):
        is_inexact = plain.is_floating_point() or plain.is_complex()
        before, after = (rms(plain), rms(other)) if is_inexact else (1.0, 1.0)
        ratio = min(max(after / before, least), _LARGEST_RATIO) if before and after else 1.0
        scaled.append(dataclasses.replace(tolerance, atol=tolerance.atol * ratio))
    return tuple(scaled)


def _is_within(native: Sequence[torch.Tensor], want: Sequence[torch.Tensor], tolerances: Sequence[Tolerance]) -> bool:
    parts = zip(native, want, tolerances, strict=True)
    return all(distance(*part) <= (0 if part[2].is_exact else _FAIR) for part in parts)


def _shows_terms(setting: Setting, inputs: Sequence[Any], want: Sequence[torch.Tensor]) -> bool:
    """Say whether the outputs differ from those for zeros, so that the few terms that aren't zero show. The inputs are
    zeros afterwards: there may be no room for others."""
    for one in filter(is_floating, inputs):
        one.zero_()
    pairs = list(zip(setting.oracle.answer_anywhere(inputs), want, strict=True))
    changed = sum(int((one.to(two.device) != two).sum()) for one, two in pairs)
    return changed >= _CHANGED_SHARE * sum(one.numel() for one, _ in pairs)


def _are_halves(setting: Setting, inputs: Sequence[Any]) -> bool:
    """Say whether inputs and outputs have at most 16 bits: half in place of bfloat16 is no cheaper precision, though it
    has less range."""
    dtypes = [*setting.spec.dtypes, *(one.dtype for one in filter(is_floating, inputs))]
    return all(dtype.itemsize <= _HALF_BYTES for dtype in dtypes if dtype.is_floating_point)


def _decides(
    setting: Setting,
    variant: Variant,
    changed_by: Callable[[Variant], list[Any]],
    plain: Answer,
    want: Sequence[torch.Tensor],
) -> bool:
    """Say whether wrong values are a verdict. Far from the drawn scale they are one where the outputs grow with the
    inputs, as sums, products and maxima do: no scale is strange to these, and a kernel that fails there has a number
    format of less range. `plain` and `want` are the oracle's answers without and with the variant."""
    if not variant.is_far:
        return True
    near = variant.at_drawn_scale()
    without = plain() if near is None else setting.oracle.answer_anywhere(changed_by(near))
    error = _SCALING_ERROR[setting.oracle.kind]
    return all(_grows(one, two, error) for one, two in zip(without, want, strict=True))


def _grows(plain: torch.Tensor, scaled: torch.Tensor, error: float) -> bool:
    """Say whether one is the other times a power of two, and not equal: an operation on ratios, such as a cosine, isn't
    defined below some scale."""
    if not plain.is_floating_point():
        return torch.equal(plain.to(scaled.device), scaled)
    before, after = rms(plain), rms(scaled)
    power = round(math.log2(after / before)) if before and after else 0
    if (before and after and not power) or abs(power) > _LARGEST_POWER:
        return False
    parts = ((plain[place].to(scaled.device), scaled[place]) for place in parts_of(scaled))
    return all(_are_multiples(one.double(), two.double(), 2.0**power, error) for one, two in parts)


def _are_multiples(one: torch.Tensor, two: torch.Tensor, factor: float, error: float) -> bool:
    expected = one * factor
    return bool(((two == expected) | ((two - expected).abs() <= error * two.abs())).all())
