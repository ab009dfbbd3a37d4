"""What a variant's failure says of a solution: whether it decides, and whether there is anything to be seen."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch

from harness.referee.answers.oracle import Oracle
from harness.referee.inputs.variants import Variant

_ERROR = {"float64": 1e-9, "float32": 1e-5}
"""What scaling by a power of two may change: nothing but the last bits of a sum in another order."""
_MOST = 1000
"""A larger power of two is no double."""
_TELLING = 1 / 16
"""Of the outputs, as many as a few terms must reach."""


def decides(
    oracle: Oracle,
    variant: Variant,
    given: Callable[[Variant], list[Any]],
    base: Sequence[torch.Tensor],
    want: Sequence[torch.Tensor],
) -> bool:
    """Whether wrong values are a verdict. Far from the drawn scale they are where the reference's outputs grow with its
    inputs, as those of sums, products and maxima do: no scale is strange to these, and what fails there has a number
    format of less range. `base` and `want` are the oracle's answers without and with it."""
    if not variant.is_far:
        return True
    near = variant.at_drawn_scale()
    plain = base if near is None else oracle.answer(given(near))
    return all(_scales(one, two, _ERROR[oracle.kind]) for one, two in zip(plain, want, strict=True))


def tells(oracle: Oracle, variant: Variant, inputs: Sequence[Any], want: Sequence[torch.Tensor]) -> bool:
    """Whether outputs show the few terms of a sum that aren't zero."""
    if not variant.is_sparse:
        return True
    nothing = [torch.zeros_like(one) if _is_floating(one) else one for one in inputs]
    pairs = list(zip(oracle.answer(nothing), want, strict=True))
    return sum(int((one != two).sum()) for one, two in pairs) >= _TELLING * sum(one.numel() for one, _ in pairs)


def _is_floating(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.is_floating_point()


def _scales(plain: torch.Tensor, scaled: torch.Tensor, error: float) -> bool:
    """Whether one is a power of two times the other, and not the same: what only ratios decide, such as a cosine, has
    a scale below which it isn't defined."""
    if not plain.is_floating_point():
        return torch.equal(plain, scaled)
    one, two = plain.double(), scaled.double()
    before, after = (float(value[value.isfinite()].norm()) for value in (one, two))
    if not (before and after):
        return torch.equal(one, two)
    power = round(math.log2(after / before))
    if power == 0 or abs(power) > _MOST:
        return False
    expected = one * 2.0**power
    return bool(((two == expected) | ((two - expected).abs() <= error * two.abs())).all())
