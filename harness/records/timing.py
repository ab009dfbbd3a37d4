"""Raw times of the arms, and what is derived from them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal, get_args

from harness.records.statistics import Interval, median, paired_ratio

Baseline = Literal["eager", "compile", "compile-max-autotune", "cudnn-benchmark", "channels-last"]
"""Ways to run the reference that a solution is compared with."""
ArmName = Literal["eager", "compile", "compile-max-autotune", "cudnn-benchmark", "channels-last", "control", "solution"]
"""`control`: the first baseline once more, in a worker of its own. What differs between the two is no speed-up, but
what this machine makes of one (an A/A test)."""
ReferenceArm = Literal["eager", "compile", "compile-max-autotune", "cudnn-benchmark", "channels-last", "control"]
"""Any arm but the solution."""
Metric = Literal["gpu_cold", "gpu_warm", "end_to_end", "graph"]
"""What a sample is. `gpu_cold`: the device's time for a call, from before its first kernel to after its last, with
nothing of the inputs in the L2 cache and all launches queued beforehand. `gpu_warm`: the same, with the cache as the
last call left it. `end_to_end`: the host's time from the call until the device is idle. `graph`: as gpu_cold, of the
call captured as a CUDA graph and replayed."""

BASELINES: tuple[Baseline, ...] = get_args(Baseline)

_WIDEST = 0.05
"""Half an interval's width, relative to its estimate, above which a speed-up says too little to be ranked."""


@dataclass(frozen=True)
class GpuState:
    """The GPU while a turn was taken, as NVML tells it; None what it doesn't tell."""

    sm_mhz: tuple[int, int] | None = None
    """The lowest and the highest clock seen of the multiprocessors."""
    memory_mhz: int | None = None
    power_w: float | None = None
    """The highest seen."""
    energy_j: float | None = None
    temperature_c: int | None = None
    throttled: tuple[str, ...] = ()
    """Why clocks were held back, in NVML's words ('sw power cap', 'hw thermal slowdown'), idleness left out."""
    other_processes: int | None = None
    """Programs on this GPU that are none of the harness's."""


@dataclass(frozen=True)
class Turn:
    """One turn of one arm. `call_ns` are the worker's claims, `wall_ns` is the referee's clock around all of them.

    Of each call, and empty where unknown: `tail_ns`, for how long the device went on working after its outputs had been
    copied; `launch_ns`, for how long the host was busy with it; `queued`, whether all its launches were waiting on the
    device before the first began. `canary_ns`: how long a fill of the referee's took right after the turn.
    """

    arm: ArmName
    block: int
    call_ns: tuple[int, ...]
    wall_ns: int
    tail_ns: tuple[int, ...] = ()
    launch_ns: tuple[int, ...] = ()
    queued: tuple[bool, ...] = ()
    canary_ns: int | None = None
    gpu: GpuState | None = None

    def __post_init__(self) -> None:
        if not self.call_ns or min(self.call_ns) <= 0 or self.wall_ns <= 0:
            raise ValueError("a timed turn has positive times")
        for name, values in (("tail", self.tail_ns), ("launch time", self.launch_ns), ("proof", self.queued)):
            if values and (len(values) != len(self.call_ns) or min(values) < 0):
                raise ValueError(f"a timed turn has a {name} for every call or for none, and none is negative")


@dataclass(frozen=True)
class Floors:
    """What the clock itself shows, in ns: for nothing at all between two events, and for an empty kernel."""

    events_ns: float
    kernel_ns: float

    def __post_init__(self) -> None:
        if not 0 < self.events_ns <= self.kernel_ns:
            raise ValueError("nothing takes some time, and an empty kernel no less")


@dataclass(frozen=True)
class Row:
    """A further metric, measured after the headline with the same arms in blocks of its own."""

    metric: Metric
    turns: tuple[Turn, ...]


@dataclass(frozen=True)
class PeakMemory:
    """An arm's share of the GPU's memory, in bytes: what its calls took at most of torch's allocator beyond inputs and
    parameters, as its worker claims; and what its process held after its turns, as the driver tells. That is the CUDA
    context, and whatever its code has allocated, through torch or not, and keeps."""

    arm: ArmName
    torch_bytes: int
    process_bytes: int | None = None


@dataclass(frozen=True)
class Timing:
    """All turns in the order in which they were taken. A block holds turns of every arm.

    `baselines[0]` is the one that the headline speed-up refers to; `metric` says what its samples are. `fresh_at`: the
    blocks before which all workers were started anew.
    """

    case: str
    turns: tuple[Turn, ...]
    baselines: tuple[Baseline, ...] = ("eager",)
    metric: Metric = "gpu_cold"
    floors: Floors | None = None
    fresh_at: tuple[int, ...] = ()
    rows: tuple[Row, ...] = ()
    memory: tuple[PeakMemory, ...] = ()

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
    def has_control(self) -> bool:
        return any(turn.arm == "control" for turn in self.turns)

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
