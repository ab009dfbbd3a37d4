"""The fairness of a variant to a right kernel, and what a failure on it says: the reference decides both."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from harness.model.check import Tolerance
from harness.referee.answers.oracle import Oracle, copied
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
_CHANGED_SHARE = 1 / 16
"""The share of the outputs that the few non-zero terms must change for a sparse variant to show anything."""


@dataclass(frozen=True)
class FairInputs:
    """Inputs changed by a fair variant, with the oracle's answer and the tolerance of each output.

    `decides`: whether wrong values are a verdict; else they make a solution fragile.
    """

    inputs: list[Any]
    want: tuple[torch.Tensor, ...]
    tolerances: tuple[Tolerance, ...]
    decides: bool


def fair_inputs(
    setting: Setting, variant: Variant, changed_by: Callable[[Variant], list[Any]], base: Sequence[torch.Tensor]
) -> FairInputs | None:
    """Apply a variant; None where it is unfair, or would show nothing.

    A variant is fair where the reference gives finite values wherever it does so for the inputs as drawn, and where
    its own error leaves the tolerance telling. `changed_by` makes the same inputs anew and applies a variant to them.
    `base` is the oracle's answer without the variant. Large answers may lie on the host.

    Raises: InvalidProblem where the reference refuses the inputs.
    """
    inputs = changed_by(variant)
    native = setting.oracle.native(copied(inputs))  # first: what raises in float64 is judged in float32 from then on
    if variant.name not in ("infinite", "nan") and _loses_values(native, base):
        return None
    if setting.problem.tolerance is None:
        want, evidence = setting.answer_with_evidence(inputs)
        if not all(one.is_telling for one in evidence):
            return None
        tolerances = tuple(one.tolerance for one in evidence)
    else:
        want = setting.oracle.answer(inputs)
        tolerances = _scaled(variant, setting.tolerances, base, want)
        if not _is_within(native, want, tolerances):
            return None
    del native  # what follows computes further answers
    if variant.is_sparse and not _shows_terms(setting.oracle, inputs, want):
        return None
    return FairInputs(inputs, want, tolerances, _decides(setting.oracle, variant, changed_by, base, want))


def _loses_values(native: Sequence[torch.Tensor], base: Sequence[torch.Tensor]) -> bool:
    pairs = zip(native, base, strict=True)
    return any(
        got.is_floating_point() and bool((one.isfinite().to(got.device) & ~got.isfinite()).any()) for got, one in pairs
    )


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


def _shows_terms(oracle: Oracle, inputs: Sequence[Any], want: Sequence[torch.Tensor]) -> bool:
    """Say whether the outputs differ from those for zeros, so that the few terms that aren't zero show."""
    nothing = [torch.zeros_like(one) if is_floating(one) else one for one in inputs]
    pairs = list(zip(oracle.answer(nothing), want, strict=True))
    changed = sum(int((one.to(two.device) != two).sum()) for one, two in pairs)
    return changed >= _CHANGED_SHARE * sum(one.numel() for one, _ in pairs)


def _decides(
    oracle: Oracle,
    variant: Variant,
    changed_by: Callable[[Variant], list[Any]],
    base: Sequence[torch.Tensor],
    want: Sequence[torch.Tensor],
) -> bool:
    """Say whether wrong values are a verdict. Far from the drawn scale they are one where the outputs grow with the
    inputs, as sums, products and maxima do: no scale is strange to these, and a kernel that fails there has a number
    format of less range. `base` and `want` are the oracle's answers without and with the variant."""
    if not variant.is_far:
        return True
    near = variant.at_drawn_scale()
    plain = base if near is None else oracle.answer(changed_by(near))
    return all(_grows(one, two, _SCALING_ERROR[oracle.kind]) for one, two in zip(plain, want, strict=True))


def _grows(plain: torch.Tensor, scaled: torch.Tensor, error: float) -> bool:
    """Say whether one is the other times a power of two, and not equal: an operation on ratios, such as a cosine, isn't
    defined below some scale."""
    plain = plain.to(scaled.device)
    if not plain.is_floating_point():
        return torch.equal(plain, scaled)
    one, two = plain.double(), scaled.double()
    before, after = (float(value[value.isfinite()].norm()) for value in (one, two))
    if not (before and after):
        return torch.equal(one, two)
    power = round(math.log2(after / before))
    if power == 0 or abs(power) > _LARGEST_POWER:
        return False
    expected = one * 2.0**power
    return bool(((two == expected) | ((two - expected).abs() <= error * two.abs())).all())
