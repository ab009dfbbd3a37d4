"""The findings of an evaluation so far, and how long its stages took."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from harness.model.build import CompiledBaseline
from harness.model.ceilings import Ceilings
from harness.model.check import Check, DerivedTolerance
from harness.model.config import ConfinementLevel
from harness.model.evaluation import WeightsSource, Work
from harness.model.timing import Timing
from harness.model.trace import Trace
from harness.referee.buffers.turns import Weights
from harness.sandbox.outcome import SolutionFailed


@dataclass
class CaseOutcome:
    """The result of checking a case, which grows; a failing check ends it, but for `fragile` ones, far from the drawn
    scale. `remarks` are what is worth saying beyond the verdict."""

    weights: Weights
    checks: list[Check] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    failed: SolutionFailed | None = None
    fragile: list[Check] = field(default_factory=list)
    computed_in: str | None = None
    """The arithmetic that its values show."""
    keeps_output: bool = False
    """True where it is fragile because an output lies in the memory of an earlier one."""
    is_constant: bool = False
    """True where the right values are all the same, as zeros are, so that a kernel that writes these would pass."""

    def add(self, check: Check, failed: SolutionFailed | None) -> None:
        self.checks.append(check)
        self.failed = failed


@dataclass
class Found:
    """The findings of an evaluation so far; they become the record however it ends."""

    checks: list[Check] = field(default_factory=list)
    tolerances: dict[str, tuple[DerivedTolerance, ...]] = field(default_factory=dict)
    """The derived tolerances of each case."""
    fragile: list[Check] = field(default_factory=list)
    keeps_output: bool = False
    remarks: list[str] = field(default_factory=list)
    stages_s: dict[str, float] = field(default_factory=dict)
    weights: WeightsSource | None = None
    is_constant: bool = False
    """True where some case's right values are; see CaseOutcome."""
    replaced: bool = False
    """True where parameters of the solution had other values before they took the reference's."""
    timing: Timing | None = None
    compiled: tuple[CompiledBaseline, ...] = ()
    work: Work | None = None
    ceilings: Ceilings | None = None
    trace: Trace | None = None
    protections: tuple[str, ...] = ()
    confinement: ConfinementLevel | None = None
    computed_in: str | None = None
    precision: str | None = None
    """The problem's, where the reference has run."""
    case: str | None = None
    """The one that is being judged or timed."""

    def become(self, other: Found) -> None:
        """Take over what another try has found; the seconds of both count."""
        for name, seconds in self.stages_s.items():
            other.stages_s[name] = other.stages_s.get(name, 0.0) + seconds
        vars(self).update(vars(other))

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Keep the wall-clock seconds of a stage, however it ends, and add them up where it comes twice."""
        started = time.monotonic()
        try:
            yield
        finally:
            self.stages_s[name] = self.stages_s.get(name, 0.0) + time.monotonic() - started
