"""Of several baselines the fastest, and the speed-up over it."""

from __future__ import annotations

from dataclasses import dataclass

from harness.model.arms import OF_PRECISION, Baseline
from harness.model.statistics import Interval
from harness.model.timing import Timing


@dataclass(frozen=True)
class Fastest:
    """The baseline of the lowest time. Chosen after it was measured, it looks a little faster than it is: what errs
    in the speed-up over it errs against the solution."""

    baseline: Baseline
    time_ns: float
    speedup: Interval | None
    """Its time over the solution's, paired by block as over any other."""
    ties: tuple[Baseline, ...]
    """Others that may be as fast: the interval of their time over its time reaches down to 1."""


def fastest_baseline(timing: Timing) -> Fastest | None:
    """None where there was nothing to choose from. In a precision of its own a baseline has no rivals."""
    alike = [baseline for baseline in timing.baselines if baseline not in OF_PRECISION.values()]
    if len(alike) < 2:
        return None
    fastest = min(alike, key=timing.time_ns)
    others = (baseline for baseline in alike if baseline != fastest)
    ties = tuple(other for other in others if _may_be_as_fast(timing, other, fastest))
    return Fastest(fastest, timing.time_ns(fastest), timing.speedup_over(fastest), ties)


def _may_be_as_fast(timing: Timing, other: Baseline, fastest: Baseline) -> bool:
    ratio = timing.ratio(other, fastest)
    return ratio is None or ratio.low <= 1
