"""Each arm's calls as pictures show them: in order, with medians, outliers and histograms."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from operator import attrgetter
from statistics import median

from harness.model.arms import ArmName
from harness.model.spread import fences, quartiles
from harness.model.statistics import Interval, median_interval
from harness.model.timing import Timing, Turn
from harness.reports.pictures.drawing import MARKERS
from harness.reports.untrusted import one_line

_FAR_APART = 3.0
"""Ratio of the slowest call to the fastest from which an axis is logarithmic."""
_CLOSE_UP, _LEAST_CLOSE_UP = 8.0, 0.002
"""Interquartile ranges, and share of the median, beyond the quartiles that a close-up reaches at most."""
_FEWEST_BINS, _MOST_BINS, _COMMON_BINS = 8, 48, 60


@dataclass(frozen=True)
class BlockValue:
    """The arm's value in one block, which spans the calls from `first` to before `end`."""

    first: int
    end: int
    ns: float


@dataclass(frozen=True)
class ArmSamples:
    """All calls of one arm. `numbers` are their places among the calls of all arms, from 0."""

    name: str
    colour: str
    marker: str
    numbers: tuple[int, ...]
    ns: tuple[int, ...]
    blocks: tuple[BlockValue, ...]
    interval: Interval | None
    """The median of the blocks with its 95 % interval; None with too few. Neighbouring calls correlate, blocks much
    less."""

    @cached_property
    def median_ns(self) -> float:
        return median(self.ns)

    @property
    def typical_ns(self) -> float:
        """The median of the blocks, the middle of the interval where there is one."""
        return median([block.ns for block in self.blocks])

    @cached_property
    def quartiles_ns(self) -> tuple[float, float]:
        """Half of the calls lie between them."""
        return quartiles(self.ns)

    @cached_property
    def outliers(self) -> tuple[bool, ...]:
        """True for each call that lies outside of the fences."""
        low, high = fences(self.ns)
        return tuple(not low <= ns <= high for ns in self.ns)

    @cached_property
    def close_up_ns(self) -> tuple[float, float]:
        """The span of an axis of this arm alone: all calls but those so far out that the rest would be a line."""
        low, high = self.quartiles_ns
        reach = max(_CLOSE_UP * (high - low), _LEAST_CLOSE_UP * self.median_ns)
        near = [ns for ns in (*self.ns, *(block.ns for block in self.blocks)) if low - reach <= ns <= high + reach]
        bounds = (self.interval.low, self.interval.high) if self.interval else ()
        bottom, top = min(*near, *bounds, self.median_ns), max(*near, *bounds, self.median_ns)
        margin = 0.09 * (top - bottom) or 1e-3 * self.median_ns
        return bottom - margin, top + margin

    @property
    def beyond(self) -> int:
        """The number of calls that the close-up doesn't span."""
        low, high = self.close_up_ns
        return sum(not low <= ns <= high for ns in self.ns)

    @cached_property
    def bins_ns(self) -> tuple[float, ...]:
        """Edges of a histogram over the close-up, as wide as D. Freedman and P. Diaconis (1981) advise."""
        low, high = self.close_up_ns
        first, third = self.quartiles_ns
        width = 2 * (third - first) / len(self.ns) ** (1 / 3)
        count = math.ceil((high - low) / width) if width > 0 else _FEWEST_BINS
        return _edges(low, high, min(max(count, _FEWEST_BINS), _MOST_BINS), is_log=False)


@dataclass(frozen=True)
class Samples:
    """All arms on one axis. `borders`: the numbers of the calls with which blocks begin, and the number of all. Before
    those in `fresh` all workers were started anew."""

    arms: tuple[ArmSamples, ...]
    metric: str
    borders: tuple[int, ...]
    fresh: tuple[int, ...]
    is_averaged: bool
    """A block's value is a mean of its calls, not their median."""
    wall_ns: int
    """The referee's wall clock over all turns together."""

    @property
    def calls(self) -> int:
        return self.borders[-1]

    @cached_property
    def is_log(self) -> bool:
        """True where calls lie so far apart that a linear axis would show the slowest alone."""
        fastest, slowest = self._ends_ns
        return slowest / fastest > _FAR_APART

    @cached_property
    def range_ns(self) -> tuple[float, float]:
        """The axis of all arms, from below the fastest call to above the slowest."""
        fastest, slowest = self._ends_ns
        if self.is_log:
            return fastest / 1.15, slowest * 1.15
        margin = 0.06 * (slowest - fastest) or 0.01 * slowest
        return fastest - margin, slowest + margin

    @cached_property
    def bins_ns(self) -> tuple[float, ...]:
        """Edges of the histogram of all arms: equally wide on the axis that is drawn."""
        return _edges(*self.range_ns, _COMMON_BINS, self.is_log)

    @cached_property
    def _ends_ns(self) -> tuple[int, int]:
        calls = [ns for arm in self.arms for ns in arm.ns]
        return min(calls), max(calls)


def counts(values: Sequence[float], edges: Sequence[float]) -> list[int]:
    """Count the values in each bin; those outside of all edges are in none."""
    found = [0] * (len(edges) - 1)
    for value in values:
        if edges[0] <= value <= edges[-1]:
            found[min(bisect_right(edges, value), len(found)) - 1] += 1
    return found


def samples_of(timing: Timing) -> Samples:
    """Baselines come first, in their order, then the control; the solution is last."""
    spans = list(_spans(timing))
    return Samples(
        arms=tuple(_arm(timing, name, number) for number, name in enumerate(timing.arms)),
        metric=timing.metric,
        borders=(0, *(end for _, end, _ in spans)),
        is_averaged=timing.is_averaged,
        fresh=tuple(first for first, _, turns in spans if turns[0].block in timing.fresh_at),
        wall_ns=sum(turn.wall_ns for turn in timing.turns),
    )


def _arm(timing: Timing, name: ArmName, number: int) -> ArmSamples:
    """The solution always has the first look; beyond the palette looks begin anew."""
    look = 0 if name == "solution" else 1 + number % (len(MARKERS) - 1)
    spans = list(_spans(timing))
    calls: list[tuple[int, int]] = []
    for first, _, turns in spans:
        place = first
        for turn in turns:
            if turn.arm == name:
                calls += enumerate(turn.call_ns, place)
            place += len(turn.call_ns)
    values = zip(spans, timing.block_ns(name), strict=True)
    return ArmSamples(
        name=one_line(name),
        colour=f"series{look}",
        marker=MARKERS[look],
        numbers=tuple(place for place, _ in calls),
        ns=tuple(ns for _, ns in calls),
        blocks=tuple(BlockValue(first, end, ns) for (first, end, _), ns in values),
        interval=median_interval(timing.block_ns(name)),
    )


def _spans(timing: Timing) -> Iterator[tuple[int, int, tuple[Turn, ...]]]:
    """Yield for each block the number of its first call, that of the first call behind it, and its turns."""
    first = 0
    for _, group in groupby(timing.turns, key=attrgetter("block")):
        turns = tuple(group)
        end = first + sum(len(turn.call_ns) for turn in turns)
        yield first, end, turns
        first = end


def _edges(low: float, high: float, count: int, is_log: bool) -> tuple[float, ...]:
    if is_log:
        return tuple(low * (high / low) ** (i / count) for i in range(count + 1))
    return tuple(low + (high - low) * i / count for i in range(count + 1))
