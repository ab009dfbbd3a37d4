"""Raw times of the arms, and what is derived from them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal, get_args

from harness.records.statistics import Interval, median, paired_ratio

Baseline = Literal["eager", "compile", "compile-max-autotune", "cudnn-benchmark", "channels-last"]
"""Ways to run the reference that a solution is compared with."""
ArmName = Literal["eager", "compile", "compile-max-autotune", "cudnn-benchmark", "channels-last", "solution"]

BASELINES: tuple[Baseline, ...] = get_args(Baseline)

_WIDEST = 0.05
"""Half an interval's width, relative to its estimate, above which a speed-up says too little to be ranked."""


@dataclass(frozen=True)
class Turn:
    """One turn of one arm. `call_ns` are the worker's claims, `wall_ns` is the referee's clock around all of them.

    `tail_ns`: for how long the device went on working after each call's outputs had been copied; empty where unknown.
    """

    arm: ArmName
    block: int
    call_ns: tuple[int, ...]
    wall_ns: int
    tail_ns: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if not self.call_ns or min(self.call_ns) <= 0 or self.wall_ns <= 0:
            raise ValueError("a timed turn has positive times")
        if self.tail_ns and (len(self.tail_ns) != len(self.call_ns) or min(self.tail_ns) < 0):
            raise ValueError("a timed turn has a tail for every call or for none, and none is negative")


@dataclass(frozen=True)
class Timing:
    """All turns in the order in which they were taken. A block holds turns of every arm.

    `baselines[0]` is the one that the headline speed-up refers to.
    """

    case: str
    turns: tuple[Turn, ...]
    baselines: tuple[Baseline, ...] = ("eager",)

    def __post_init__(self) -> None:
        if not self.baselines or len(set(self.baselines)) != len(self.baselines):
            raise ValueError("a timing has baselines, each once")
        if {turn.arm for turn in self.turns} != {*self.baselines, "solution"}:
            raise ValueError("all arms have turns, and no other has")
        blocks = [{turn.block for turn in self.turns if turn.arm == arm} for arm in (*self.baselines, "solution")]
        if any(of_arm != blocks[0] for of_arm in blocks):
            raise ValueError("every block has all arms")

    def calls_ns(self, arm: ArmName) -> tuple[int, ...]:
        return tuple(ns for turn in self.turns if turn.arm == arm for ns in turn.call_ns)

    def median_ns(self, arm: ArmName) -> float:
        return median(self.calls_ns(arm))

    def block_medians(self, arm: ArmName) -> tuple[float, ...]:
        """The arm's median in each block, in ns: neighbouring calls correlate, blocks much less."""
        blocks: dict[int, list[int]] = {}
        for turn in self.turns:
            if turn.arm == arm:
                blocks.setdefault(turn.block, []).extend(turn.call_ns)
        return tuple(median(blocks[number]) for number in sorted(blocks))

    def speedup_over(self, baseline: Baseline) -> Interval | None:
        """The baseline's time over the solution's, paired by block; None with too few blocks for an interval."""
        return paired_ratio(self.block_medians(baseline), self.block_medians("solution"))

    @cached_property
    def speedup(self) -> Interval | None:
        """The headline: over the first baseline."""
        return self.speedup_over(self.baselines[0])

    @property
    def noise(self) -> str | None:
        """Why this measurement is too uncertain to be ranked; None where it isn't."""
        speedup = self.speedup
        if speedup is None:
            return "too few blocks for an interval"
        if speedup.half_width > _WIDEST:
            return f"the interval of the speed-up is ±{speedup.half_width:.0%} wide; at most ±{_WIDEST:.0%} is ranked"
        return None
