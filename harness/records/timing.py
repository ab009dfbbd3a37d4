"""Raw times of the arms, and what is derived from them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from harness.records.statistics import Interval, median, paired_ratio

ArmName = Literal["eager", "solution"]


@dataclass(frozen=True)
class Turn:
    """One turn of one arm. `call_ns` are the worker's claims, `wall_ns` is the referee's clock around all of them."""

    arm: ArmName
    block: int
    call_ns: tuple[int, ...]
    wall_ns: int

    def __post_init__(self) -> None:
        if not self.call_ns or min(self.call_ns) <= 0 or self.wall_ns <= 0:
            raise ValueError("a timed turn has positive times")


@dataclass(frozen=True)
class Timing:
    """All turns in the order in which they were taken. A block holds as many turns of one arm as of the other."""

    case: str
    turns: tuple[Turn, ...]

    def __post_init__(self) -> None:
        if not all(self.block_medians(arm) for arm in ("eager", "solution")):
            raise ValueError("both arms have turns")
        blocks = [{turn.block for turn in self.turns if turn.arm == arm} for arm in ("eager", "solution")]
        if blocks[0] != blocks[1]:
            raise ValueError("every block has both arms")

    def calls_ns(self, arm: ArmName) -> tuple[int, ...]:
        return tuple(ns for turn in self.turns if turn.arm == arm for ns in turn.call_ns)

    def median_ns(self, arm: ArmName) -> float:
        return median(self.calls_ns(arm))

    def block_medians(self, arm: ArmName) -> tuple[float, ...]:
        """The arm's median in each block, in ns: neighbouring calls correlate, blocks much less."""
        blocks = sorted({turn.block for turn in self.turns if turn.arm == arm})
        return tuple(
            median([ns for turn in self.turns if turn.arm == arm and turn.block == block for ns in turn.call_ns])
            for block in blocks
        )

    @property
    def speedup(self) -> Interval | None:
        """Reference time over solution time, paired by block; None with too few blocks for an interval."""
        return paired_ratio(self.block_medians("eager"), self.block_medians("solution"))
