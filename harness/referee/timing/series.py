"""Measurements by fresh workers, one after another: what they add up to, and when that is enough."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Container, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Literal

from harness.model.arms import ArmName, Metric
from harness.model.config import TimingConfig
from harness.model.plural import several
from harness.model.statistics import LITTLE_SCATTER, MANY
from harness.model.timing import PeakMemory, Row, Timing, Turn

Clock = Callable[[], float]


class Series:
    """A series of as many measurements as the config wants processes, all of one metric. They share the budget: what
    one leaves of it, those after it have.

    Each is measured until its own blocks scatter within the precision, what workers differ by left aside; the last one
    also until the interval over all of them, which holds the median of each, is as narrow as that. `remarks` say what
    was begun anew.
    """

    def __init__(self, config: TimingConfig, clock: Clock = time.monotonic) -> None:
        self._config = config
        self._clock = clock
        self._began_at = self._share_s = self._spent_s = 0.0
        self.parts: list[Timing] = []
        self.remarks: list[str] = []

    @property
    def metric(self) -> Literal["gpu_cold", "end_to_end"]:
        """The metric with which the next process begins: the one with which its forerunners ended."""
        return "end_to_end" if self.parts and self.parts[0].metric == "end_to_end" else "gpu_cold"

    @property
    def is_complete(self) -> bool:
        return len(self.parts) >= self._config.processes

    @contextmanager
    def blocks(self) -> Iterator[None]:
        """Count the time while a process's blocks are measured. A measurement that begins anew has cost nothing."""
        self._share_s = (self._config.budget_s - self._spent_s) / max(1, self._config.processes - len(self.parts))
        self._began_at = self._clock()
        yield
        self._spent_s += self._clock() - self._began_at

    @property
    def is_share_spent(self) -> bool:
        return self._clock() - self._began_at > self._share_s

    def is_enough(self, timing: Timing) -> bool:
        """Say whether a process's blocks so far are enough: they scatter little enough; in the last process the
        interval over all is narrow enough, too, or the processes before lie too far apart for it, and no further block
        would help."""
        is_anew = bool(self.parts) and timing.metric != self.metric
        earlier = [] if is_anew else self.parts
        whole = joined([*earlier, timing])
        if _is_below_floor(timing) or _is_below_floor(whole):
            return True  # no ratio will be claimed
        precision = self._config.precision
        if precision is None or not _is_within(timing, math.hypot(precision, timing.between_workers)):
            return False
        if len(earlier) < self._config.processes - 1:
            return True
        return _is_within(whole, precision) or self._is_out_of_reach(_attainable(precision, whole.between_workers))

    def add(self, timing: Timing) -> None:
        """A process's measurement. Where it couldn't keep the metric it is the first of all anew."""
        if self.parts and timing.metric != self.parts[0].metric:
            count = several(len(self.parts), "process", "processes")
            self.remarks.append(
                f"{timing.case}: all processes were measured anew end to end, since one could be measured so alone; "
                f"what {count} before it gave as {self.parts[0].metric} isn't used"
            )
            self.parts.clear()
        self.parts.append(timing)

    def _is_out_of_reach(self, precision: float) -> bool:
        """An interval over few processes holds all their medians."""
        medians = [math.log(part.speedup.estimate) for part in self.parts if part.speedup]
        return 0 < len(medians) < MANY - 1 and (max(medians) - min(medians)) / 2 > precision


def _is_below_floor(timing: Timing) -> bool:
    return timing.is_below_floor(timing.baselines[0]) or timing.is_below_floor("solution")


def _is_within(timing: Timing, precision: float) -> bool:
    speedup = timing.speedup
    return speedup is not None and speedup.half_width <= _attainable(precision, timing.between_workers)


def _attainable(precision: float, apart: float) -> float:
    """Loosen the precision for short calls: what workers differ by can't be measured away."""
    return max(precision, LITTLE_SCATTER * apart)


def joined(parts: Sequence[Timing]) -> Timing:
    """Measurements of one metric by fresh workers, one after another, as one; with the arms and the further metrics
    that all of them have, and the most memory that any of them took."""
    first = parts[0]
    if len(parts) == 1:
        return first
    if any(part.metric != first.metric for part in parts):
        raise ValueError("times of two metrics are never joined")
    baselines = tuple(name for name in first.baselines if all(name in part.baselines for part in parts))
    arms = {*baselines, "solution"} | ({"control"} if all(part.has_control for part in parts) else set())
    turns, fresh_at = _one_after_another([part.turns for part in parts], arms)
    rows = (_joined_row(row.metric, parts, arms) for row in first.rows)
    return replace(
        first,
        turns=turns,
        baselines=baselines,
        fresh_at=fresh_at,
        kernels={arm: count for part in parts for arm, count in part.kernels.items()},
        rows=tuple(row for row in rows if row),
        memory=_most_memory(parts, arms),
    )


def _joined_row(metric: Metric, parts: Sequence[Timing], arms: Container[str]) -> Row | None:
    rows = [row for part in parts for row in part.rows if row.metric == metric]
    if len(rows) < len(parts):
        return None
    return Row(metric, *_one_after_another([row.turns for row in rows], arms))


def _one_after_another(
    parts: Sequence[Sequence[Turn]], arms: Container[str]
) -> tuple[tuple[Turn, ...], tuple[int, ...]]:
    """The turns of these arms with their blocks counted on, and the blocks before which workers were started anew."""
    turns: list[Turn] = []
    fresh_at: list[int] = []
    for part in parts:
        before = turns[-1].block + 1 if turns else 0
        fresh_at += [before] if before else []
        turns += [replace(turn, block=turn.block + before) for turn in part if turn.arm in arms]
    return tuple(turns), tuple(fresh_at)


def _most_memory(parts: Sequence[Timing], arms: Container[str]) -> tuple[PeakMemory, ...]:
    peaks: dict[ArmName, list[PeakMemory]] = {}
    for peak in (peak for part in parts for peak in part.memory if peak.arm in arms):
        peaks.setdefault(peak.arm, []).append(peak)
    return tuple(
        PeakMemory(
            arm,
            max(peak.torch_bytes for peak in own),
            max((peak.process_bytes for peak in own if peak.process_bytes is not None), default=None),
        )
        for arm, own in peaks.items()
    )
