"""The timing of an evaluation: its headline, further metrics, memory, and how far its numbers can be trusted."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

from pydantic.dataclasses import dataclass

from harness.model.arms import OF_PRECISION, ArmName, Baseline, Metric
from harness.model.config import TimingConfig
from harness.model.metric_timing import SHORT_NS as SHORT_NS
from harness.model.metric_timing import GpuState as GpuState
from harness.model.metric_timing import MetricTiming
from harness.model.metric_timing import TimerOverhead as TimerOverhead
from harness.model.metric_timing import Turn as Turn
from harness.model.noise import is_doubtful, reasons, reasons_over, remarks
from harness.model.record import RECORD
from harness.model.statistics import LITTLE_SCATTER, MANY, Interval, between_processes, between_workers, paired_ratio


@dataclass(frozen=True, config=RECORD)
class Row:
    """A further metric, measured after the headline with the same arms in blocks of its own; `fresh_at` as of the
    headline."""

    metric: Metric
    turns: tuple[Turn, ...]
    fresh_at: tuple[int, ...] = ()


@dataclass(frozen=True, config=RECORD)
class PeakMemory:
    """An arm's share of the GPU's memory, in bytes: what its calls took at most of torch's allocator beyond inputs and
    parameters, as its worker claims; and what its process held at most, as the driver tells and samples every 10 ms
    show. That is the CUDA context, and whatever its code has allocated, through torch or not."""

    arm: ArmName
    torch_bytes: int
    process_bytes: int | None = None


@dataclass(frozen=True, config=RECORD)
class Timing(MetricTiming):
    """The headline, with what was measured beside it."""

    rows: tuple[Row, ...] = ()
    memory: tuple[PeakMemory, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        if len({self.metric, *(row.metric for row in self.rows)}) != 1 + len(self.rows):
            raise ValueError("a timing has every metric once")
        for row in self.rows:
            self.of_row(row)  # the same arms, in every block

    def of_row(self, row: Row) -> Timing:
        """A further metric as a timing of its own."""
        return replace(self, metric=row.metric, turns=row.turns, fresh_at=row.fresh_at, rows=(), memory=())

    @cached_property
    def noises(self) -> tuple[str, ...]:
        """The reasons in words why this measurement is too uncertain to be ranked; empty where it isn't."""
        return tuple(reasons(self))

    @property
    def noise(self) -> str | None:
        """The first reason; None for a measurement that may be ranked."""
        return self.noises[0] if self.noises else None

    def noises_over(self, baseline: Baseline) -> tuple[str, ...]:
        """Say why the ratio over this baseline is too uncertain to be quoted; over the first one that is `noises`."""
        return self.noises if baseline == self.baselines[0] else tuple(reasons_over(self, baseline))

    @cached_property
    def is_doubtful(self) -> bool:
        """True where its intervals may leave out the truth for any reason of noises; a wide one is none."""
        return is_doubtful(self)

    @cached_property
    def oddities(self) -> tuple[str, ...]:
        """Facts that a reader should know of this measurement, and that make it no less certain."""
        return tuple(remarks(self, [self.of_row(row) for row in self.rows]))


@dataclasses.dataclass(frozen=True)
class OverBaseline:
    """The solution against one of its baselines."""

    baseline: Baseline
    time_ns: float
    """The baseline's time."""
    speedup: Interval | None
    """The ratio of its time to the solution's, paired by block."""
    ties: tuple[str, ...] = ()
    """Other baselines that may be as fast: the interval of their time over its time reaches down to 1."""

    @property
    def named(self) -> str:
        """'compile', or 'compile = eager' where the two can't be told apart."""
        return " = ".join((self.baseline, *self.ties))


def fastest_baseline(timing: Timing) -> OverBaseline | None:
    """Return the fastest baseline; None where there was nothing to choose from. In a precision of its own a baseline
    has no rivals. Chosen after it was measured, it looks a little faster than it is: what errs in the speed-up over it
    errs against the solution."""
    alike = [baseline for baseline in timing.baselines if baseline not in OF_PRECISION.values()]
    if len(alike) < 2:
        return None
    fastest = min(alike, key=timing.time_ns)
    ratios = {other: timing.ratio(other, fastest) for other in alike if other != fastest}
    ties = tuple(other for other, ratio in ratios.items() if ratio is None or ratio.low <= 1)
    return OverBaseline(fastest, timing.time_ns(fastest), timing.speedup_over(fastest), ties)


def missed_precision(timing: Timing, config: TimingConfig) -> str | None:
    """Say 'the interval is ±0.49 %, the config asks for ±0.25 %: …'; None where none was asked for, or no ratio is
    claimed."""
    asked, speedup = config.precision, timing.speedup
    if asked is None or speedup is None or speedup.half_width <= asked:
        return None
    reached = f"the interval is ±{_percent(speedup.half_width)}, the config asks for ±{_percent(asked)}"
    return f"{reached}: {_why(timing, config, asked, speedup.half_width)}"


def _why(timing: Timing, config: TimingConfig, asked: float, half_width: float) -> str:
    """Say why measuring ended all the same: which of the ends of referee.timing.series it was."""
    arms = timing.block_ns(timing.baselines[0]), timing.block_ns("solution")
    last_at = max(timing.fresh_pairs, default=0)
    apart, attainable = between_processes(*arms, timing.fresh_pairs), LITTLE_SCATTER * timing.between_workers
    kernels = timing.kernels_of(timing.baselines[0]), timing.kernels_of("solution")
    is_last_quiet = _scatters_within(asked, arms[0][last_at:], arms[1][last_at:], kernels)
    if apart > max(asked, attainable) and timing.processes < MANY and is_last_quiet:
        return f"its processes' own speed-ups lie ±{_percent(apart)} apart, which no more blocks change"
    if half_width <= attainable:
        return (
            f"workers that run the very same may differ by ±{_percent(timing.between_workers)} where calls are so "
            "short, which no more blocks change; more timing.processes do"
        )
    if len(arms[0]) - last_at >= config.blocks:
        return f"the config allows no more than {config.blocks} blocks of each process (timing.blocks)"
    return f"the {config.budget_s:g} s for it were spent (timing.budget_s)"


def _scatters_within(
    asked: float, above_ns: Sequence[float], below_ns: Sequence[float], kernels: tuple[int, int]
) -> bool:
    """Say whether one process's blocks scatter within what was asked for, apart from what workers differ by."""
    own = paired_ratio(above_ns, below_ns, kernels=kernels)
    apart = between_workers(above_ns, below_ns, kernels=kernels)
    return own is not None and own.half_width <= max(math.hypot(asked, apart), LITTLE_SCATTER * apart)


def _percent(share: float) -> str:
    return f"{100 * share:.2f} %"
