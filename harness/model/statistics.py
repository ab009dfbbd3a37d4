"""Medians, and intervals that assume nothing about the distribution.

Order-statistic interval of a median: H. A. David, H. N. Nagaraja, Order Statistics, 3rd ed., section 7.1. Neighbours
that resemble one another: R. Bartels, The rank version of von Neumann's ratio test for randomness, J. Am. Stat. Assoc.
77 (1982).
"""

from __future__ import annotations

import functools
import itertools
import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist, fmean, median
from typing import Literal

BETWEEN_WORKERS = 0.003
PLACES_NS = 200
"""The difference that the times of two workers that run the very same may have beyond the scatter within each, since
their code and their memory lie elsewhere: so large a share (on a log scale), and so many ns for each kernel that a call
launches, which is 1.4 % of two times of 20 µs with one kernel. Both are half an interval of 95 %.

The numbers are from an H100. Of a convolution of 7 ms, whose workspace has a place of its own in each worker, 20 ratios
lay up to 0.35 % from 1, the same in every block; of other calls over 0.5 ms 50 lay up to 0.16 %. The means of 300 calls
of one kernel, of 21 to 87 µs, each good to 20 ns, differed in 16 pairs of workers by 0.12 µs (root mean square), and by
no less at 21 than at 87, though outputs changed places from call to call (benchmarks/equal_arms.py). References of
public kernels launch 1 to 12 kernels, and their workers differ by 0.05 to 1.8 µs. Of 229 such pairs the interval holds
1 in 98 % (under 0.12 ms, 97 % of 96); with 160 ns for the first kernel alone it was 80 % (55 %)."""

_MEASURED_KERNELS = 12
_WIDEST = 1.0
"""The widest that it is, on a log scale: a factor of 2.7."""

LITTLE_SCATTER = 1.25
"""The width of an interval, in units of what workers differ by, when scatter, an independent error, has come down to
three quarters of that. To bring it down further isn't worth the time."""

MANY = 9
"""The number of processes of whose medians an interval of 95 % leaves out the outermost."""

SpeedVerdict = Literal["faster", "slower", "same", "inconclusive"]

LEAST_DELTA = 0.01
"""The least difference, 1 %: other addresses or another place of the code make as much."""

_HELD_UP = 1.5
"""A multiple of the median: calls that take longer were held up by something else."""

_SUSPECTED = 1.0
"""Standard deviations below what independent values give, a bound that one sequence of them in six passes: merging
these costs a few percent of their interval's width, and not merging others the interval's truth."""
LEAST_BLOCKS = 6
"""The fewest values, such as of blocks, that an interval of 95 % needs."""


@dataclass(frozen=True)
class Interval:
    """An estimate between its bounds; `confidence` is what they cover where values are independent, at least what was
    asked."""

    estimate: float
    low: float
    high: float
    confidence: float

    def __post_init__(self) -> None:
        if not self.low <= self.estimate <= self.high:
            raise ValueError("an interval holds its estimate")

    @property
    def half_width(self) -> float:
        """Half the width relative to the estimate."""
        return (self.high - self.low) / 2 / self.estimate


def usual_mean(values: Sequence[float]) -> float:
    """The mean without what was held_up()."""
    return fmean(sorted(values)[: len(values) - held_up(values)])


def held_up(values: Sequence[float]) -> int:
    """Count those of the largest tenth of the values, of one at least, that exceed the median by half."""
    most = _HELD_UP * median(values)
    largest = sorted(values)[-max(1, len(values) // 10) :]
    return sum(value > most for value in largest)


def median_interval(values: Sequence[float], confidence: float = 0.95) -> Interval | None:
    """The median between two order statistics, so far out that they cover it with `confidence`.

    It is None where there are too few values (under six for 95 %).
    """
    n = len(values)
    rank, coverage = _outermost_rank(n, confidence)
    if rank is None:
        return None
    ordered = sorted(values)
    return Interval(median(ordered), ordered[rank], ordered[n - 1 - rank], coverage)


def paired_ratio(
    numerators_ns: Sequence[float],
    denominators_ns: Sequence[float],
    fresh_at: Sequence[int] = (),
    confidence: float = 0.95,
    places_ns: float = PLACES_NS,
    of_workers: float | None = None,
    kernels: tuple[int, int] = (1, 1),
) -> Interval | None:
    """The ratio of paired times with its interval: scatter as in pairs() and between_workers(), as independent errors.

    `fresh_at`: the pairs before which the measured processes were started anew. `places_ns`: 0 of a host's times.
    `kernels`: how many a call launches of either side.
    `of_workers`: the confidence of that part, where it isn't the same. It is None with too few pairs for the
    `confidence`.
    """
    processes = len(starts_of(fresh_at, len(numerators_ns)))
    usual = between_workers(numerators_ns, denominators_ns, processes, places_ns, kernels)
    apart = usual * _deviations(of_workers or confidence) / _deviations()
    return pairs(numerators_ns, denominators_ns, fresh_at, confidence, apart)


def between_workers(
    numerators_ns: Sequence[float],
    denominators_ns: Sequence[float],
    processes: int = 1,
    places_ns: float = PLACES_NS,
    kernels: tuple[int, int] = (1, 1),
) -> float:
    """Return the possible error of the ratio of two workers' times, whatever number of blocks is measured: half an
    interval of 95 %, on a log scale. `processes` is how often both were started anew; `kernels` as in paired_ratio().
    """
    above, below = map(_places, kernels)
    places = places_ns * math.hypot(above / median(numerators_ns), below / median(denominators_ns))
    return min(_WIDEST, math.hypot(BETWEEN_WORKERS, places) * of_medians(processes))


def _places(kernels: int) -> float:
    """Return for how many places a call's kernels count: as many as were measured, and as independent ones beyond."""
    return kernels if kernels <= _MEASURED_KERNELS else math.sqrt(_MEASURED_KERNELS * kernels)


def _deviations(confidence: float = 0.95) -> float:
    """Return how many standard deviations to either side hold a normal variable with this probability."""
    return NormalDist().inv_cdf((1 + confidence) / 2)


def of_medians(count: int) -> float:
    """The standard deviation of the median of so many normal variables, in theirs: of two 0.78 (exactly 0.71, on the
    safe side), of three 0.66 (exactly 0.67), of many 1.25 / √count."""
    return math.sqrt(math.pi / 2 / (count + math.pi / 2 - 1))


def pairs(
    numerators: Sequence[float],
    denominators: Sequence[float],
    fresh_at: Sequence[int] = (),
    confidence: float = 0.95,
    apart: float = 0.0,
) -> Interval | None:
    """The median ratio of pairs on a log scale, with its interval by their scatter and by an error that is independent
    of it: `apart` is half an interval of that.

    Pairs of one process share its addresses and the place of its code, so the estimate is the median of the processes'
    own medians, whatever number of pairs each has: a noisy process is measured for longer, and is right no more often.
    Simulated with two processes of 6 pairs that scatter by 0.05 % and one of 60 by 0.5 %: where that one is off by
    0.6 % the median of all pairs is off by 0.48 %, the mean of the medians by 0.20, their median by 0.02; where any of
    ten is, by 0.16, 0.12 and 0.10; where all differ by 0.3 %, by 0.26, 0.19 and 0.22
    (tests/model/test_false_alarms.py). The mean is a seventh better among equals, and follows one that is off.

    The interval is that of all pairs, of each process as many as are independent(), and wide enough for the processes'
    medians: for all of them, or from six on for their own interval.
    """
    parts = _logs_by_process(numerators, denominators, fresh_at)
    scatter = median_interval([value for part in parts for value in independent(part)], confidence)
    if scatter is None:
        return None
    medians = [median(part) for part in parts]
    estimate, own = median(medians), median_interval(medians, confidence)
    least, most = (own.low, own.high) if own else (min(medians), max(medians))
    low = min(least, estimate - math.hypot(max(0.0, estimate - scatter.low), apart))
    high = max(most, estimate + math.hypot(max(0.0, scatter.high - estimate), apart))
    return Interval(math.exp(estimate), math.exp(low), math.exp(high), scatter.confidence)


def starts_of(fresh_at: Sequence[int], count: int) -> list[int]:
    """Return the pairs, of so many, at which processes begin."""
    return sorted({0, *(start for start in fresh_at if 0 < start < count)})


def between_processes(numerators: Sequence[float], denominators: Sequence[float], fresh_at: Sequence[int]) -> float:
    """Return half of how far apart the median ratios of processes lie, on a log scale; 0 of one."""
    medians = [median(part) for part in _logs_by_process(numerators, denominators, fresh_at)]
    return (max(medians) - min(medians)) / 2


def _logs_by_process(
    numerators: Sequence[float], denominators: Sequence[float], fresh_at: Sequence[int]
) -> list[list[float]]:
    logs = [math.log(a / b) for a, b in zip(numerators, denominators, strict=True)]
    starts = starts_of(fresh_at, len(logs))
    return [logs[start:end] for start, end in zip(starts, [*starts[1:], len(logs)], strict=True)]


def geometric_mean(intervals: Sequence[Interval]) -> Interval:
    """The geometric mean of independently measured ratios, with the interval that their own intervals give it.

    Log-widths add in quadrature, each side by itself (first-order propagation of independent errors). It says how
    well this set is measured, not how another set would do.
    """
    if not intervals:
        raise ValueError("no ratios, no mean")
    n = len(intervals)
    centre = sum(math.log(i.estimate) for i in intervals) / n
    below = math.sqrt(sum(math.log(i.estimate / i.low) ** 2 for i in intervals)) / n
    above = math.sqrt(sum(math.log(i.high / i.estimate) ** 2 for i in intervals)) / n
    estimate, low, high = math.exp(centre), math.exp(centre - below), math.exp(centre + above)
    return Interval(estimate, min(low, estimate), max(high, estimate), min(i.confidence for i in intervals))


def ratio(new: Interval, old: Interval) -> Interval:
    """Return new / old of two independently measured values. Log-widths add in quadrature, as in geometric_mean()."""
    below = math.hypot(math.log(new.estimate / new.low), math.log(old.high / old.estimate))
    above = math.hypot(math.log(new.high / new.estimate), math.log(old.estimate / old.low))
    estimate = new.estimate / old.estimate
    return Interval(
        estimate, estimate * math.exp(-below), estimate * math.exp(above), min(new.confidence, old.confidence)
    )


@functools.lru_cache(maxsize=256)
def _outermost_rank(n: int, confidence: float) -> tuple[int | None, float]:
    """The largest k such that the values of rank k and n−1−k (from 0) enclose the median with `confidence`."""
    best: tuple[int | None, float] = (None, 0.0)
    of_rank = up_to_rank = 1  # binomial coefficients, exact
    for rank in range(n // 2):
        coverage = 1 - 2 * (up_to_rank / 2**n)
        if coverage < confidence:
            break
        best = (rank, coverage)
        of_rank = of_rank * (n - rank) // (rank + 1)
        up_to_rank += of_rank
    return best


def independent(values: Sequence[float]) -> Sequence[float]:
    """The values, or means of two, four, … neighbours (of an odd number without the last): until neighbours differ
    about as much as any two do, or no more than eleven are left.

    Simulated, two arms that each wander by themselves by 0.2 %, with a correlation of 0.8 from block to block: of 40
    blocks' intervals of 95 % cover the truth in 64 % without it and in 91 with it, of 100 in 64 and 93; of 12 blocks in
    66 and 74, which are too few to show how they correlate (tests/model/test_correlation.py).
    """
    while len(values) >= 2 * LEAST_BLOCKS and _do_neighbours_resemble(values):
        values = [(a + b) / 2 for a, b in zip(values[::2], values[1::2], strict=False)]
    return values


def _do_neighbours_resemble(values: Sequence[float]) -> bool:
    n = len(values)
    ordered = sorted(values)
    ranks = [(bisect_left(ordered, value) + bisect_right(ordered, value)) / 2 for value in values]
    spread = sum((rank - n / 2) ** 2 for rank in ranks)
    if not spread:
        return False
    ratio = sum((a - b) ** 2 for a, b in itertools.pairwise(ranks)) / spread
    variance = 4 * (n - 2) * (5 * n * n - 2 * n - 9) / (5 * n * (n + 1) * (n - 1) ** 2)
    return ratio < 2 - _SUSPECTED * math.sqrt(variance)


def delta_of(control: Interval | None) -> float:
    """Return how far from 1 a ratio still counts as equal: 1 %, or as far as the interval of the A/A control
    reaches."""
    if control is None:
        return LEAST_DELTA
    return max(LEAST_DELTA, control.high - 1, 1 / control.low - 1)


def speed_verdict(speedup: Interval | None, delta: float) -> SpeedVerdict:
    """Decide by the whole interval: `faster` above 1 + delta, `slower` below 1 / (1 + delta), `same` between the two.

    An interval that reaches over either border is `inconclusive`, and so is none.
    """
    if speedup is None:
        return "inconclusive"
    upper, lower = 1 + delta, 1 / (1 + delta)
    if speedup.low > upper:
        return "faster"
    if speedup.high < lower:
        return "slower"
    return "same" if lower <= speedup.low and speedup.high <= upper else "inconclusive"
