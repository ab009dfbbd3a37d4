"""The best time of a piece of the GPU's work: what a ceiling is made of."""

from __future__ import annotations

import time
from collections.abc import Callable

import torch

_WARM_UP_S = 0.05
"""By then code is loaded, algorithms are chosen, and what was freed before is cleared (referee.timing.settling)."""
_REPEATS = 20
_LONGEST_S = 0.5


def best_seconds(work: Callable[[], object]) -> float:
    """Of twenty, after enough of the same to warm up; of fewer where they take long together."""
    until = time.monotonic() + _WARM_UP_S
    while True:
        first = _seconds(work)
        if time.monotonic() >= until:
            break
    repeats = max(2, min(_REPEATS, round(_LONGEST_S / first)))
    return min(first, *(_seconds(work) for _ in range(repeats)))


def _seconds(work: Callable[[], object]) -> float:
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))  # type: ignore[no-untyped-call]
    start.record()
    work()
    end.record()
    end.synchronize()
    return float(start.elapsed_time(end) / 1e3)
