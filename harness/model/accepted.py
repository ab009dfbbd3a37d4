"""What of an evaluation a snapshot keeps."""

from __future__ import annotations

from pydantic.dataclasses import dataclass

from harness.model.arms import Baseline, Metric
from harness.model.environment import Environment
from harness.model.record import RECORD
from harness.model.statistics import Interval, paired_ratio
from harness.model.verdict import Verdict


@dataclass(frozen=True, config=RECORD)
class AcceptedTimes:
    """The blocks' values in ns, paired: what the accepted speed-up and its interval follow from. `fresh_at`: the pairs
    before which new processes begin."""

    case: str
    baseline: Baseline
    baseline_ns: tuple[float, ...]
    solution_ns: tuple[float, ...]
    metric: Metric = "gpu_cold"
    fresh_at: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if len(self.baseline_ns) != len(self.solution_ns) or not min((*self.baseline_ns, *self.solution_ns), default=0):
            raise ValueError("an accepted timing has positive medians, as many of the baseline as of the solution")
        if self.speedup is None:
            raise ValueError("an accepted timing has enough blocks for an interval")

    @property
    def speedup(self) -> Interval | None:
        return paired_ratio(self.baseline_ns, self.solution_ns, self.fresh_at)


@dataclass(frozen=True, config=RECORD)
class Accepted:
    """One accepted evaluation, without its samples and sources."""

    problem: str
    solution: str
    verdict: Verdict
    evaluation: str
    started_at: str
    problem_sha256: str
    solution_sha256: str
    times: AcceptedTimes | None
    environment: Environment

    @property
    def device(self) -> str:
        """One entry a solution and device is kept."""
        return device_of(self.environment)

    @property
    def speedup(self) -> Interval | None:
        return self.times.speedup if self.times else None


def device_of(environment: Environment) -> str:
    """What an evaluation was made on, as a snapshot tells devices apart."""
    return environment.gpu or "simulator"
