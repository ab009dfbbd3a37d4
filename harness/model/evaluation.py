"""The record of one solution on one problem in one environment."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import field, replace
from typing import Annotated, Literal

from pydantic import Field, NonNegativeInt
from pydantic.dataclasses import dataclass

from harness.model.arms import Metric
from harness.model.build import CompiledBaseline, ExtensionBuild
from harness.model.ceilings import Ceilings, RateSource
from harness.model.check import Check, DerivedTolerance, Evidence
from harness.model.config import Config, ConfinementLevel
from harness.model.environment import Environment
from harness.model.record import RECORD
from harness.model.statistics import Interval
from harness.model.timing import Timing, missed_precision
from harness.model.trace import Trace
from harness.model.verdict import Verdict

SCHEMA = 3

_Amount = Annotated[int, Field(gt=0, lt=2**63)]
"""Bytes or operations of one call: what can't be is refused before anybody divides by it."""
_LightNs = Annotated[float, Field(gt=0, lt=2**63)]

WeightsSource = Literal["none", "reference_state", "same_seed", "partly_reference_state"]
"""The origin of the solution's parameters: it has none; the reference's state was loaded under equal names and shapes;
construction under the same seed alone; or some of each."""

DecidingStage = Literal["build", "simulator", "device"]


@dataclass(frozen=True, config=RECORD)
class ProblemRef:
    """The problem that was judged: its name and the hash of its files."""

    name: str
    sha256: str
    precision: str
    title: str = ""
    file: str | None = None
    """The path of the bare file that it was made of, as it was named; None for a folder."""


@dataclass(frozen=True, config=RECORD)
class SolutionRef:
    """The solution that was judged: its name, the hash of its files but for its prose, and what its author declares."""

    name: str
    sha256: str
    author: str | None
    precision: str | None
    expected_verdict: Verdict
    explanation: str = ""
    files: dict[str, str] = field(default_factory=dict)
    """The folder's text files by their path in it: what was judged, and the author's prose, kept whatever becomes of
    the folder."""
    file: str | None = None
    """The path of the bare file that it was made of, as it was named; None for a folder."""


@dataclass(frozen=True, config=RECORD)
class Failure:
    """The reason why an evaluation didn't pass: what happened, where, and what its author can do next."""

    reason: str
    next_step: str
    case: str | None = None
    seed: int | None = None
    details: str | None = None
    """A traceback, compiler errors, the end of the worker's output: text of the solution's, not to be trusted."""
    evidence: tuple[Evidence, ...] = ()
    """Evidence of a deception: there is some exactly where the verdict is `cheating`."""

    @property
    def seen_by(self) -> str:
        """'wall_clock, tail': the checks that saw it; '' where none did."""
        return ", ".join(dict.fromkeys(one.check for one in self.evidence))


@dataclass(frozen=True, config=RECORD)
class Work:
    """The work that a call of the timed case can't do without: each tensor moved once, and the operations torch counts;
    or what the formulas of problem.yaml give."""

    least_bytes: _Amount
    operations: _Amount | None
    """Floating-point operations of matrix products and convolutions (torch.utils.flop_counter); None where there are
    none."""
    written_bytes: NonNegativeInt | None = None
    """The outputs' part of `least_bytes`; None in records from before they were told apart."""
    convolutions: int | None = None
    """The convolutions' part of `operations`; None where that isn't known, such as for a formula's."""
    forward: Work | None = None
    """The part of a training step before its gradients; None for other calls, and where a formula gives the whole."""

    @property
    def backward(self) -> Work | None:
        """The rest: gradients given and made, and the operations between them."""
        if self.forward is None:
            return None
        operations = (self.operations or 0) - (self.forward.operations or 0)
        return Work(self.least_bytes - self.forward.least_bytes, max(0, operations) or None)

    def __post_init__(self) -> None:
        if self.written_bytes is not None and self.written_bytes > self.least_bytes:
            raise ValueError(f"{self.written_bytes} bytes written are no part of {self.least_bytes}")


@dataclass(frozen=True, config=RECORD)
class SpeedOfLight:
    """The least time of a call of the timed case: its work at the device's ceilings; see model.roofline for the rule.

    `arithmetic` names whose matrix rate the operations are held against; None, and no time, where none are counted.
    """

    memory_ns: _LightNs
    arithmetic_ns: _LightNs | None
    arithmetic: str | None
    memory_source: RateSource = "measured"
    """The source of the memory's rate; in records from before theory counted all are measured."""
    arithmetic_source: RateSource = "measured"

    def __post_init__(self) -> None:
        if (self.arithmetic_ns is None) != (self.arithmetic is None):
            raise ValueError("a speed of light has a name for its arithmetic where it has a time for it")

    @property
    def ns(self) -> float:
        """The longer of the two times, since memory and arithmetic can work at the same time."""
        return max(self.memory_ns, self.arithmetic_ns or 0.0)

    @property
    def source(self) -> RateSource:
        """The source of the longer time."""
        return self.memory_source if self.bound == "memory" else self.arithmetic_source

    @property
    def bound(self) -> str:
        """The resource that takes the longer time: 'memory', or the arithmetic."""
        return self.arithmetic if self.arithmetic and self.ns > self.memory_ns else "memory"


@dataclass(frozen=True, config=RECORD)
class Evaluation:
    """The immutable record of a job: one line of the journal."""

    id: str
    run: str
    started_at: str
    """The time of its start in UTC, ISO 8601."""
    duration_s: float
    problem: ProblemRef
    solution: SolutionRef
    cases: tuple[str, ...]
    """The cases that were asked for."""
    config: Config
    environment: Environment
    seed: int
    """The master seed; every other is derived from it."""
    verdict: Verdict
    weights: WeightsSource | None = None
    failure: Failure | None = None
    builds: tuple[ExtensionBuild, ...] = ()
    checks: tuple[Check, ...] = ()
    tolerances: tuple[DerivedTolerance, ...] = ()
    """Tolerances of cases whose problem names none; none in records from before tolerances were derived."""
    timing: Timing | None = None
    compiled: tuple[CompiledBaseline, ...] = ()
    """The timing's baselines that torch.compile() made; none in records from before this was kept."""
    work: Work | None = None
    ceilings: Ceilings | None = None
    """Ceilings of the device that timed it; None where nothing was to be timed, or they couldn't be measured."""
    speed_of_light: SpeedOfLight | None = None
    """The speed of light by the precision that the solution declares, else by the problem's."""
    trace: Trace | None = None
    """The kernels that ran; None where no turn was traced."""
    protections: tuple[str, ...] = ()
    """Means that confined the solution's workers, e.g. 'own user'; see `harness doctor`."""
    confinement: ConfinementLevel | None = None
    """The level that these amount to; None where nothing of the solution's ran, and in older records."""
    remarks: tuple[str, ...] = ()
    fragile: tuple[Check, ...] = ()
    """The failure on inputs more than 16 times as large or as small as they were drawn, or at a shape that nobody
    wrote, which is no verdict."""
    keeps_output: bool = False
    """True where an output lies in the memory of an earlier one that is still held: fragile, too."""
    stages_s: dict[str, float] = field(default_factory=dict)
    """Wall-clock seconds of build, load, correctness, timing."""
    computed_in: str | None = None
    """The arithmetic that results show, whatever is declared: one cheaper than the problem's precision, or that; None
    where they don't show it, and in older records."""
    decided_by: DecidingStage | None = None
    """The stage that decided, where the simulator may decide before a GPU; None where it may not, and in older
    records. What the simulator decided has its checks, and the GPU's environment, for which the verdict holds."""
    schema: int = SCHEMA

    def __post_init__(self) -> None:
        if self.schema != SCHEMA:
            raise ValueError(f"schema {self.schema} is not {SCHEMA}")
        if self.verdict.passed != (self.failure is None):
            raise ValueError("exactly the evaluations that did not pass have a failure")
        if self.verdict.passed and not self.checks:
            raise ValueError("nothing passes unchecked")
        if self.verdict.passed and not all(check.passed for check in self.checks):
            raise ValueError("a failed check can't pass")
        if any(check.passed for check in self.fragile):
            raise ValueError("fragile is what failed")
        if self.timing is not None and self.environment.backend == "sim":
            raise ValueError("a simulated run has no timing")
        if self.timing is not None and not self.verdict.passed:
            raise ValueError("only what passed is timed")
        if self.speed_of_light is not None and (self.work is None or self.ceilings is None):
            raise ValueError("a speed of light follows from work and ceilings")
        if self.decided_by in ("build", "simulator") and self.verdict.passed:
            raise ValueError("where a GPU is asked, nothing passes without it")
        if not {one.baseline for one in self.compiled} <= set(self.timing.baselines if self.timing else ()):
            raise ValueError("only a baseline that was measured was compiled")

    @property
    def key(self) -> str:
        """16 hexadecimal digits, equal for evaluations that answer the same question: which sources and cases, under
        which config, in which environment, by which version of the harness. The seed has no part in it."""
        return evaluation_key(self.problem, self.solution, self.cases, self.config, self.environment)

    @property
    def metric(self) -> Metric | None:
        """The metric of the headline; None, like what follows, where nothing was timed."""
        return self.timing.metric if self.timing else None

    @property
    def speedup(self) -> Interval | None:
        """The headline; None also where the timing claims no ratio."""
        return self.timing.speedup if self.timing else None

    @property
    def baseline_ns(self) -> float | None:
        return self.timing.time_ns(self.timing.baselines[0]) if self.timing else None

    @property
    def solution_ns(self) -> float | None:
        return self.timing.time_ns("solution") if self.timing else None

    @property
    def is_fragile(self) -> bool:
        """True where it passed, though its results don't last or are wrong far from the problem as drawn."""
        return self.verdict.passed and (bool(self.fragile) or self.keeps_output)

    @property
    def share_of_light(self) -> float | None:
        """The speed-of-light time over the solution's own; 1 is the limit, and what lies above it has a remark. It is
        None where nothing was timed, or no ceilings are known."""
        if self.speed_of_light is None or self.solution_ns is None:
            return None
        return self.speed_of_light.ns / self.solution_ns

    @property
    def own_share(self) -> float | None:
        """The share of the device's time that the solution's own kernels took; None where nothing was traced and
        timed."""
        return self.trace.own_share if self.trace else None

    @property
    def light_source(self) -> RateSource | None:
        """The source of the limit, theory or a measurement; None where it isn't known."""
        return self.speed_of_light.source if self.speed_of_light else None

    @property
    def missed_precision(self) -> str | None:
        """A sentence that the speed-up's interval is wider than the config asked for, and why; None where it isn't."""
        return missed_precision(self.timing, self.config.timing) if self.timing else None

    @property
    def worst(self) -> float | None:
        """The largest error as a multiple of its tolerance; None where nothing was compared."""
        return max((check.worst for check in self.checks), default=None)


def evaluation_key(
    problem: ProblemRef, solution: SolutionRef, cases: Sequence[str], config: Config, environment: Environment
) -> str:
    """Return Evaluation.key before there is an evaluation. `environment.fingerprint` covers the harness's version."""
    question = [
        problem.name,
        problem.sha256,
        solution.name,
        solution.sha256,
        sorted(cases),
        config.identity,
        environment.fingerprint,
    ]
    return hashlib.sha256(json.dumps(question, sort_keys=True).encode()).hexdigest()[:16]


WITHHELD = "(withheld)"


def without_source(evaluation: Evaluation) -> Evaluation:
    """The record without the solution's files and explanation, and without what quotes them: compilers' output and a
    failure's details. Hashes, verdict, reason and numbers stay."""
    failure = evaluation.failure
    return replace(
        evaluation,
        solution=replace(evaluation.solution, files={}, explanation=""),
        builds=tuple(map(_without_output, evaluation.builds)),
        failure=failure and replace(failure, details=None),
    )


def _without_output(build: ExtensionBuild) -> ExtensionBuild:
    nvcc = build.nvcc and replace(build.nvcc, words=WITHHELD if build.nvcc.words else "", output="")
    return replace(build, output="", nvcc=nvcc)
