"""Equal values among inputs, whose order a problem may leave open: then none are equal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from harness.referee.setting import Setting
from harness.workspace.open_order import names_open_order, uses_open_indices

_MOST_ELEMENTS = 2**26
"""The size of a tensor above which its ties stay: sorting it takes too much memory."""
_WORDS = {torch.float32: torch.int32, torch.float64: torch.int64}
"""Formats with room between their values, and integers of their size."""


def has_open_order(setting: Setting) -> bool:
    """Say whether the problem's indices have several right values where inputs have equal ones."""
    return leaves_order_open(setting.problem.source, setting.spec.dtypes)


def leaves_order_open(source: str, dtypes: Sequence[torch.dtype]) -> bool:
    """Say whether a problem's outputs are indices that may be any of those of equal values, or depend on such."""
    has_indices = any(not (dtype.is_floating_point or dtype.is_complex) for dtype in dtypes)
    return (has_indices and names_open_order(source)) or uses_open_indices(source)


def without_ties(inputs: Sequence[Any]) -> list[Any]:
    """Raise equal values of a tensor by units in the last place until all are different. Zeros stay, which may be a
    structure, and so do infinities. Of equal values torch.topk, sort, median and the like may return any, so a kernel
    that returns another is as right."""
    return [_apart(value) if isinstance(value, torch.Tensor) and value.dtype in _WORDS else value for value in inputs]


def _apart(value: torch.Tensor) -> torch.Tensor:
    words = _WORDS[value.dtype]
    flat = value.contiguous().view(-1)
    places = (torch.isfinite(flat) & (flat != 0)).nonzero().view(-1)
    if not 1 < places.numel() <= _MOST_ELEMENTS:
        return value
    ordered, order = flat[places].sort()
    steps = _in_order(ordered.view(words)).long()
    count = torch.arange(len(steps), device=steps.device)
    apart = (steps - count).cummax(0).values + count
    if torch.equal(apart, steps):
        return value
    flat = flat.clone()
    flat[places[order]] = _in_order(apart.to(words)).view(value.dtype)
    made = torch.empty_like(value)
    made.copy_(flat.view(value.shape))
    return made


def _in_order(words: torch.Tensor) -> torch.Tensor:
    """Turn the bits of floating values into integers of the same order, and back."""
    most = torch.iinfo(words.dtype).max
    return torch.where(words < 0, words ^ most, words)
