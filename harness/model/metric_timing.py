"""Raw times of all arms by one metric, and what is derived from them."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import field
from functools import cached_property
from statistics import median
from typing import Annotated, Literal

from pydantic import Field, NonNegativeInt, PositiveFloat, PositiveInt
from pydantic.dataclasses import dataclass

from harness.model.arms import ArmName, Baseline, Metric
from harness.model.record import RECORD
from harness.model.statistics import (
    Interval,
    SpeedVerdict,
    between_workers,
    delta_of,
    held_up,
    paired_ratio,
    speed_verdict,
    starts_of,
    usual_mean,
)

FLOORS = 3
"""The number of empty kernels that a call must outlast for a ratio: launching would be a third of shorter ones."""
SHORT_NS = 20_000
"""The limit under which calls are measured many at a time and averaged: a mean has digits that events don't have."""


@dataclass(frozen=True, config=RECORD)
class GpuState:
    """The GPU while a turn was taken, as NVML tells it; None what it doesn't tell."""

    sm_mhz: tuple[int, int] | None = None
    """The lowest and the highest clock seen of the multiprocessors."""
    memory_mhz: int | None = None
    power_w: float | None = None
    """The highest seen."""
    energy_j: float | None = None
    """The energy, in J, in records up to 0.2 alone."""
    temperature_c: int | None = None
    throttled: tuple[str, ...] = ()
    """The reasons why clocks were held back, in NVML's words ('sw power cap', 'hw thermal slowdown'), idleness left
    out."""
    other_processes: int | None = None
    """Programs on this GPU that are none of the harness's."""


@dataclass(frozen=True, config=RECORD)
class Turn:
    """One turn of one arm. `call_ns` are the worker's claims, `wall_ns` is the referee's clock around all of them.

    Of each call, and empty where unknown: `tail_ns`, for how long the device went on working after its outputs had been
    copied; `launch_ns`, for how long the host was busy with it; `queued`, whether all its launches were waiting on the
    device before the first began. `canary_ns`: how long a fill of the referee's took right after the turn, `fill_ns`
    one of the device's memory right before, between events.
    """

    arm: ArmName
    block: int
    call_ns: Annotated[tuple[PositiveInt, ...], Field(min_length=1)]
    wall_ns: PositiveInt
    tail_ns: tuple[NonNegativeInt, ...] = ()
    launch_ns: tuple[NonNegativeInt, ...] = ()
    queued: tuple[bool, ...] = ()
    canary_ns: int | None = None
    gpu: GpuState | None = None
    fill_ns: int | None = None

    def __post_init__(self) -> None:
        for name, values in (("tail", self.tail_ns), ("launch time", self.launch_ns), ("proof", self.queued)):
            if values and len(values) != len(self.call_ns):
                raise ValueError(f"a timed turn has a {name} for every call or for none")


@dataclass(frozen=True, config=RECORD)
class TimerOverhead:
    """The time that the clock itself shows, in ns: for nothing at all between two events, and for an empty kernel.
    `fill_ns`: for a fill of the device's memory, like `Turn.fill_ns`, before the solution was loaded. `idle_ns`: by the
    host's clock, from the launch of an empty kernel until the device is idle."""

    events_ns: PositiveFloat
    kernel_ns: float
    fill_ns: float | int | None = None
    idle_ns: PositiveFloat | None = None

    def __post_init__(self) -> None:
        if not self.events_ns <= self.kernel_ns:
            raise ValueError("an empty kernel takes no less time than nothing")


@dataclass(frozen=True, config=RECORD)
class MetricTiming:
    """All turns by one metric, in the order in which they were taken. A block holds turns of every arm.

    `baselines[0]` is the one that the headline speed-up refers to; `metric` says what the samples are. `fresh_at`: the
    blocks before which all workers were started anew.
    """

    case: str
    turns: tuple[Turn, ...]
    baselines: tuple[Baseline, ...] = ("eager",)
    metric: Metric = "gpu_cold"
    floors: TimerOverhead | None = None
    fresh_at: tuple[int, ...] = ()
    kernels: dict[ArmName, PositiveInt] = field(default_factory=dict)
    """The number of kernels that a call of the arm launches, by a traced turn of the solution and one of the first
    baseline; empty in older records, and where no trace can be had."""

    def __post_init__(self) -> None:
        if not self.baselines or len(set(self.baselines)) != len(self.baselines):
            raise ValueError("a timing has baselines, each once")
        found = {turn.arm for turn in self.turns}
        if found - {"control"} != {*self.baselines, "solution"}:
            raise ValueError("all arms have turns, and no other has")
        blocks = [{turn.block for turn in self.turns if turn.arm == arm} for arm in found]
        if any(of_arm != blocks[0] for of_arm in blocks):
            raise ValueError("every block has all arms")

    @property
    def arms(self) -> tuple[ArmName, ...]:
        """The arms in the order of reports: baselines, the control where there is one, the solution."""
        return (*self.baselines, "control", "solution") if self.has_control else (*self.baselines, "solution")

    @cached_property
    def has_control(self) -> bool:
        return any(turn.arm == "control" for turn in self.turns)

    def calls_ns(self, arm: ArmName) -> tuple[int, ...]:
        return tuple(ns for turn in self.turns if turn.arm == arm for ns in turn.call_ns)

    def launch_ns(self, arm: ArmName) -> tuple[int, ...]:
        """The metric `launch`: for how long the host was busy with each call; empty where that wasn't measured."""
        return tuple(ns for turn in self.turns if turn.arm == arm for ns in turn.launch_ns)

    def median_ns(self, arm: ArmName) -> float:
        """Return the median of all calls; `time_ns` is what reports say that a call takes."""
        return median(self.calls_ns(arm))

    @cached_property
    def is_averaged(self) -> bool:
        """True where a block's value is a mean of its calls, for all arms alike: where any arm's calls are short.

        The clock's step is up to 0.5 µs (cudaEventElapsedTime's documented resolution), so a median of short calls
        stands on a step, and a gain smaller than that is invisible to it; in a mean the steps cancel. A call that was
        held up is left out of it, or 0.1 ms of one would be a quarter of the block's value. Without floors (older
        records) launches weren't queued either: there a short call holds the host's own delays, and the median stays.
        """
        return self.floors is not None and min(self.median_ns(arm) for arm in self.arms) < SHORT_NS

    def block_ns(self, arm: ArmName) -> tuple[float, ...]:
        """The arm's value in each block, in ns: the median of its calls, or their mean where `is_averaged`.

        Neighbouring calls correlate, blocks much less: blocks are what intervals are made of.
        """
        return self._values_by_block[arm]

    @cached_property
    def _values_by_block(self) -> dict[ArmName, tuple[float, ...]]:
        value_of = usual_mean if self.is_averaged else median
        return {arm: tuple(map(value_of, blocks)) for arm, blocks in self._calls_by_block.items()}

    def held_up(self, arm: ArmName) -> int:
        """Count the calls that are in no block's value, since it `is_averaged` and they were held up."""
        return sum(map(held_up, self._calls_by_block[arm])) if self.is_averaged else 0

    @cached_property
    def _calls_by_block(self) -> dict[ArmName, list[list[int]]]:
        return {arm: self._by_block(arm, "call_ns") for arm in self.arms}

    def _by_block(self, arm: ArmName, times: Literal["call_ns", "launch_ns"]) -> list[list[int]]:
        blocks: dict[int, list[int]] = {}
        for turn in self.turns:
            if turn.arm == arm and (found := getattr(turn, times)):
                blocks.setdefault(turn.block, []).extend(found)
        return [blocks[number] for number in sorted(blocks)]

    def time_ns(self, arm: ArmName) -> float:
        """Return the time that a call takes: the median of the blocks' values."""
        return median(self.block_ns(arm))

    def least_ns(self, arm: ArmName) -> float:
        """Return `median_ns` or `time_ns`, whichever says less: they part where calls gather in blocks."""
        return min(self.median_ns(arm), self.time_ns(arm))

    @property
    def fresh_pairs(self) -> tuple[int, ...]:
        """The places in block_ns() where new processes begin: `fresh_at` counted from the first block."""
        numbers = sorted({turn.block for turn in self.turns})
        return tuple(bisect_left(numbers, block) for block in self.fresh_at)

    @property
    def processes(self) -> int:
        """The number of times that the workers were started."""
        return len(starts_of(self.fresh_pairs, len({turn.block for turn in self.turns})))

    def is_below_floor(self, arm: ArmName) -> bool:
        """Say whether the arm's calls are too short for a ratio."""
        return self.floor_ns is not None and self.median_ns(arm) < FLOORS * self.floor_ns

    @property
    def floor_ns(self) -> float | None:
        """The time that the metric's clock shows for an empty kernel; None where that wasn't measured."""
        if self.floors is None:
            return None
        return self.floors.idle_ns if self.metric == "end_to_end" else self.floors.kernel_ns

    def speedup_over(self, baseline: Baseline) -> Interval | None:
        """The baseline's time over the solution's, paired by block.

        It is None with too few blocks for an interval, and where one of the two is below the floor.
        """
        if self.is_below_floor(baseline) or self.is_below_floor("solution"):
            return None
        return self.ratio(baseline, "solution")

    @cached_property
    def speedup(self) -> Interval | None:
        """The headline: over the first baseline."""
        return self.speedup_over(self.baselines[0])

    @cached_property
    def control_ratio(self) -> Interval | None:
        """The first baseline's time over its own twin's (A/A); None without a control, with too few blocks, and where
        calls are below the floor."""
        if not self.has_control or self.is_below_floor(self.baselines[0]):
            return None
        return self.ratio(self.baselines[0], "control")

    @property
    def between_workers(self) -> float:
        """The error of the headline that the places of its workers' memory may cause, on a log scale: no number of
        blocks makes its interval narrower than that."""
        times_ns = self.block_ns(self.baselines[0]), self.block_ns("solution")
        kernels = self.kernels_of(self.baselines[0]), self.kernels_of("solution")
        return between_workers(*times_ns, self.processes, kernels=kernels)

    def launch_ratio_over(self, baseline: Baseline) -> Interval | None:
        """The baseline's launch time over the solution's, paired by block; None where that wasn't measured."""
        of_baseline, of_solution = self.block_launch_ns(baseline), self.block_launch_ns("solution")
        if len(of_baseline) != len(of_solution) or not min((*of_baseline, *of_solution), default=0):
            return None
        return paired_ratio(of_baseline, of_solution, self.fresh_pairs, places_ns=0)

    def block_launch_ns(self, arm: ArmName) -> tuple[float, ...]:
        """The median of the arm's launch times in each block."""
        return tuple(map(median, self._by_block(arm, "launch_ns")))

    @property
    def delta(self) -> float:
        """The delta, no less than what the A/A control shows: ratios within 1 + delta and its reciprocal count as
        equal."""
        return delta_of(self.control_ratio)

    def speed_over(self, baseline: Baseline) -> SpeedVerdict:
        return speed_verdict(self.speedup_over(baseline), self.delta)

    @property
    def speed(self) -> SpeedVerdict:
        """The headline's word: the solution against the first baseline."""
        return speed_verdict(self.speedup, self.delta)

    def ratio(
        self, above: ArmName, below: ArmName, confidence: float = 0.95, of_workers: float | None = None
    ) -> Interval | None:
        """Return the ratio of two arms' times, paired by block; None with too few blocks for an interval. `of_workers`:
        the confidence of what workers differ by, where it isn't the same."""
        times_ns = self.block_ns(above), self.block_ns(below)
        kernels = self.kernels_of(above), self.kernels_of(below)
        return paired_ratio(*times_ns, self.fresh_pairs, confidence, of_workers=of_workers, kernels=kernels)

    def kernels_of(self, arm: ArmName) -> int:
        """The kernels of a call. Other baselines and the control are taken to launch as many as the first baseline; one
        where that isn't known."""
        return self.kernels.get(arm if arm == "solution" else self.baselines[0], 1)
