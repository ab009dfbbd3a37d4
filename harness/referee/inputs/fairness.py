"""Whether a variant asks too much of the operation, which is for the reference to say; and how far it lets err."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import torch

from harness.model.check import Tolerance
from harness.referee.answers.comparison import Comparison
from harness.referee.answers.oracle import copied
from harness.referee.inputs.variants import Variant
from harness.referee.setting import Setting

_FAIR = 0.5
"""The reference's own error, as a multiple of a tolerance that problem.yaml names, up to which a variant is fair: an
honest solution sums in another order and may err twice as much."""
_LEAST_RATIO, _LARGEST_RATIO = 2.0**-60, 2.0**120


def fair_tolerances(
    setting: Setting, variant: Variant, inputs: Sequence[Any], base: Sequence[torch.Tensor]
) -> tuple[Tolerance, ...] | None:
    """What each output is held to for `inputs`, which the variant has changed; None where it isn't fair.

    It is fair where the reference gives finite values wherever it does so for the inputs as they were drawn, and
    where its own error leaves the tolerance telling. `base`: the oracle's answer without the variant.

    Raises: InvalidProblem where the reference refuses the inputs.
    """
    native = setting.oracle.native(copied(inputs))  # first: what raises in float64 is judged in float32 from then on
    if variant.name not in ("infinite", "nan") and _loses_values(native, base):
        return None
    if setting.problem.tolerance is None:
        evidence = setting.evidence_on(inputs)
        return tuple(one.tolerance for one in evidence) if all(one.is_telling for one in evidence) else None
    want = setting.oracle.answer(inputs)
    tolerances = _scaled(variant, setting.tolerances, base, want)
    return tolerances if _is_within(native, want, tolerances) else None


def _loses_values(native: Sequence[torch.Tensor], base: Sequence[torch.Tensor]) -> bool:
    pairs = zip(native, base, strict=True)
    return any(got.is_floating_point() and bool((one.isfinite() & ~got.isfinite()).any()) for got, one in pairs)


def _scaled(
    variant: Variant, tolerances: Sequence[Tolerance], base: Sequence[torch.Tensor], changed: Sequence[torch.Tensor]
) -> tuple[Tolerance, ...]:
    """Absolute tolerances that grow with the oracle's outputs, and shrink with them where the inputs are only rescaled:
    the same demand on precision at any scale. Otherwise small outputs may come of terms that cancel, whose errors stay.
    """
    least = _LEAST_RATIO if variant.name == "rescaled" else 1.0
    scaled = []
    for tolerance, plain, other in zip(tolerances, base, changed, strict=True):
        before, after = _rms(plain), _rms(other)
        ratio = min(max(after / before, least), _LARGEST_RATIO) if before and after else 1.0
        scaled.append(dataclasses.replace(tolerance, atol=tolerance.atol * ratio))
    return tuple(scaled)


def _is_within(native: Sequence[torch.Tensor], want: Sequence[torch.Tensor], tolerances: Sequence[Tolerance]) -> bool:
    for got, answer, tolerance in zip(native, want, tolerances, strict=True):
        comparison = Comparison(tuple(got.shape), got.dtype, tolerance)
        comparison.add(got, answer)
        if comparison.result().worst > (0 if tolerance.is_exact else _FAIR):
            return False
    return True


def _rms(values: torch.Tensor) -> float:
    if not (values.is_floating_point() or values.is_complex()):
        return 1.0
    finite = values[values.isfinite()].abs().double()
    return float(finite.square().mean().sqrt()) if finite.numel() else 0.0
