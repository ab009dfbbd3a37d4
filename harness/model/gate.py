"""The findings of a gate, ready for any report: why a change may be merged or not; and the contents of a snapshot."""

from __future__ import annotations

import dataclasses
import datetime
from typing import Annotated, Literal

from pydantic import StringConstraints
from pydantic.dataclasses import dataclass

from harness.model.arms import Baseline, Metric
from harness.model.environment import BackendName, Environment
from harness.model.record import RECORD, SETTINGS
from harness.model.statistics import Interval, paired_ratio
from harness.model.verdict import Verdict

Speed = Literal["improved", "unchanged", "regressed", "inconclusive"]

Rule = Literal[
    "unexpected_verdict",
    "unexpected_pass",
    "changed_expectation",
    "missing_result",
    "harness_error",
    "unsupported",
    "regressed",
    "below_least_speedup",
    "inconclusive_speed",
    "no_comparison",
]

WaiverScope = Literal["correctness", "performance", "unsupported"]

RULES: dict[Rule, tuple[str, WaiverScope | None]] = {
    "unexpected_verdict": ("The solution doesn't end with the verdict that its solution.yaml expects.", "correctness"),
    "unexpected_pass": ("The solution passes although its solution.yaml expects a failure.", "correctness"),
    "changed_expectation": (
        "The solution was accepted with another verdict than its solution.yaml expects now.",
        "correctness",
    ),
    "missing_result": ("There is no result for something that was to be judged.", None),
    "harness_error": ("The harness or the machine failed; the solution wasn't judged.", None),
    "unsupported": ("It couldn't be run or judged here, which says nothing about it.", "unsupported"),
    "regressed": ("The solution is slower than the snapshot by more than the policy allows.", "performance"),
    "below_least_speedup": ("The solution's speed-up is below the policy's least.", "performance"),
    "inconclusive_speed": ("The measurements are too uncertain, or contradict each other.", "performance"),
    "no_comparison": ("The solution's speed can't be compared with the snapshot's.", "performance"),
}
"""The breach of each rule in words, and the scope of waivers for it: none where nobody can know what is waived."""

Level = Literal["failed", "broken", "inconclusive", "tolerated", "waived", "remark"]
"""The effect of a finding on the gate: fails it; stops it as our fault or the machine's; leaves it undecided where that
is forbidden; nothing, since the policy allows it; nothing, since a waiver covers it; nothing."""

Outcome = Literal["failed", "broken", "inconclusive", "passed"]

OUTCOMES: tuple[Outcome, ...] = ("failed", "broken", "inconclusive", "passed")
"""The outcomes, the worst first."""

_Words = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]


@dataclass(frozen=True, config=SETTINGS)
class Waiver:
    """Somebody's decision to accept a failure for a while, as a policy states it."""

    problem: _Words
    """A name or a pattern."""
    solution: _Words
    """A name or a pattern."""
    what: WaiverScope
    """The scope that is waived."""
    reason: _Words
    """The reason."""
    owner: _Words
    """The owner, who sees to it."""
    expires: datetime.date
    """The last day, such as 2026-12-31."""


@dataclasses.dataclass(frozen=True)
class Location:
    """The place to look at: a file by its path in the workspace, and a line from 1. `text` is the solution's,
    untrusted."""

    file: str
    line: int
    text: str = ""


@dataclasses.dataclass(frozen=True)
class GateFinding:
    """One thing to know about a solution. `message` and `details` may quote the solution: text not to be trusted."""

    rule: Rule
    level: Level
    message: str
    next_step: str
    places: tuple[Location, ...]
    details: str | None = None
    waiver: Waiver | None = None


@dataclasses.dataclass(frozen=True)
class GateAttempt:
    """One evaluation, seen by the gate. `against_snapshot` is its speed-up over the accepted one."""

    evaluation: str
    run: str
    verdict: Verdict
    duration_s: float
    speedup: Interval | None = None
    against_snapshot: Interval | None = None
    speed: Speed | None = None


@dataclasses.dataclass(frozen=True)
class Judged:
    """One solution. `attempts` are in the order of time; the later ones are measurements of a suspect again.

    `speed` is the conclusion of all of them, None where speed wasn't compared.
    """

    problem: str
    solution: str
    expected: Verdict
    attempts: tuple[GateAttempt, ...] = ()
    findings: tuple[GateFinding, ...] = ()
    accepted: Interval | None = None
    speed: Speed | None = None

    @property
    def outcome(self) -> Outcome:
        levels = {finding.level for finding in self.findings}
        return next((outcome for outcome in OUTCOMES if outcome in levels), "passed")

    @property
    def verdict(self) -> Verdict | None:
        """The verdict of the last attempt, or of the first that ended otherwise than expected; None without a
        result."""
        unexpected = (attempt.verdict for attempt in self.attempts if attempt.verdict is not self.expected)
        return next(unexpected, self.attempts[-1].verdict if self.attempts else None)

    @property
    def duration_s(self) -> float:
        return sum(attempt.duration_s for attempt in self.attempts)


@dataclasses.dataclass(frozen=True)
class GateReport:
    """The gate's whole answer.

    `not_judged` says why performance wasn't judged, None where it was. `folder` is the workspace's path in its git
    repository, '' at the root, else with a slash at its end: what makes a place's file findable from outside.
    """

    backend: BackendName | None
    environment: str | None
    """The Environment.label."""
    commit: str | None
    snapshot: str | None
    not_judged: str | None
    judged: tuple[Judged, ...]
    remarks: tuple[str, ...] = ()
    folder: str = ""

    @property
    def outcome(self) -> Outcome:
        outcomes = {judged.outcome for judged in self.judged}
        return next((outcome for outcome in OUTCOMES if outcome in outcomes), "passed")


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
        """The device; one entry is kept for each solution and device."""
        return device_of(self.environment)

    @property
    def speedup(self) -> Interval | None:
        return self.times.speedup if self.times else None


def device_of(environment: Environment) -> str:
    """Return the device that an evaluation was made on, as a snapshot tells devices apart."""
    return environment.gpu or "simulator"
