"""Timing a solution against baselines: a worker for each, taking turns over the same buffers."""

from __future__ import annotations

import dataclasses
import itertools
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch

from harness.model.arms import OF_STEPS, ArmName, Metric, ReferenceArm
from harness.model.build import CompiledBaseline
from harness.model.check import Check
from harness.model.config import TimingConfig
from harness.model.plural import several
from harness.model.timing import SHORT_NS, Row, TimerOverhead, Timing
from harness.model.verdict import Verdict
from harness.referee.answers.invalid_problem import InvalidProblem
from harness.referee.buffers.case_turns import CaseTurns, at
from harness.referee.buffers.turns import describe_arm
from harness.referee.correctness import Notify, begin_case, check_turns, take_first
from harness.referee.found import CaseOutcome
from harness.referee.memory import is_memory_scarce
from harness.referee.timing.arms import Instruments, WorkerArms, recorded_turn
from harness.referee.timing.measure import measure, measure_row, turn_length, warm_up
from harness.referee.timing.references import BaselineFailed, References, references_of
from harness.referee.timing.series import Series
from harness.sandbox.outcome import SolutionFailed
from harness.sandbox.process import WorkerProcess
from harness.sandbox.wire.device import MADE_TWICE
from harness.sandbox.wire.messages import Described

_BRIEF_NS = 100_000
"""Calls of the baseline under it don't lengthen a turn much."""
_WAITING = 0.8
"""The share of the time from a call's beginning until the device is idle for which a waiting caller is busy. (Reasoned,
not measured.)"""


@dataclass(frozen=True)
class TimedOutcome:
    """A timing, the timed turns that were judged, remarks on the baselines, what compiling them took, and what the
    solution's process says of torch."""

    timing: Timing
    checks: tuple[Check, ...]
    remarks: tuple[str, ...]
    compiled: tuple[CompiledBaseline, ...]
    described: Described


@dataclass(eq=False)
class TimedCase:
    """The case that is timed, whose turns are conducted by `instruments`.

    First the first baseline warms up, then the solution is judged, then measured: over the same buffers, as the same
    module, in turns of the same lengths.
    """

    case: CaseTurns
    workers: Mapping[ReferenceArm, WorkerProcess]
    """The first baseline's at least."""
    instruments: Instruments
    series: Series
    """The measurements that this is one of."""
    notify: Notify

    def __post_init__(self) -> None:
        case = self.case
        self._references = References(case.setting, case.buffers, self.workers, case.config, self.notify)
        self._timing = case.config.timing
        self._most_calls = case.buffers.slots
        self._fastest_ns = 0

    def warm_up(self) -> None:
        """Learn how long the first baseline's calls are, before the solution has run over these buffers: until then it
        has the GPU for itself.

        Raises: InvalidProblem where the reference fails as the first baseline.
        """
        first = self._timing.baselines[0]
        self._references.make_ready((first,))
        self._fastest_ns, _ = warm_up(self._arms("warm-up"), first, self._timing, self._most_calls)

    def check(self) -> CaseOutcome:
        """The solution's first two calls say how many a turn can have; they are judged as well. (Two: the first may
        compile.)

        Raises: SolutionFailed where no comparison came about.
        """
        case = self.case
        times_ns: list[int] = []
        with at(case.setting.case, None):
            outcome = begin_case(case, self.notify)
            while len(outcome.checks) < 2 and not outcome.failed:
                taken = take_first(case, outcome, len(outcome.checks))
                times_ns += recorded_turn("solution", taken).call_ns
            fastest_ns = (self._fastest_ns, min(times_ns))
            self._most_calls = self._usual_calls(fastest_ns)
            judged_calls = turn_length(fastest_ns, self._most_calls)
            check_turns(case, outcome, judged_calls, self.notify, self.instruments.auditor.check)
        return outcome

    def _usual_calls(self, fastest_ns: Sequence[int]) -> int:
        """Return how many calls a timed turn usually has, if that isn't too long: many where calls are short, which
        scatter most. Measuring finds out anew how long calls are: two slow ones at first, which a solution may well
        have, must not make turns of one call, whose wall clock shows little."""
        slots = self.case.buffers.slots
        is_brief = self._fastest_ns < _BRIEF_NS or min(fastest_ns) < SHORT_NS
        return slots if is_brief else min(slots, self._timing.calls_per_turn)

    def measure(
        self, references: Mapping[ReferenceArm, WorkerProcess], floors: TimerOverhead | None = None
    ) -> TimedOutcome:
        """Measure the solution against the first baseline and `references`, and judge some of its timed calls.

        Another arm than the first that can't run here (the compiler refuses, memory is short), or that takes the memory
        which the solution needs, is left out with a remark; then only the first stays beside it.

        Raises: SolutionFailed, InvalidProblem where the reference fails as the first baseline.
        """
        self._references.admit(references)
        self._references.make_ready(references_of(self._timing)[1:])
        by_count = self._timing.precision is None  # else few of them may do
        checks: list[Check] = []
        for attempt in itertools.count():  # one, unless an arm has to be left out
            config = self._of_those_ready()
            arms = self._arms(f"timed {attempt}")
            try:
                timing = measure(
                    arms,
                    config,
                    self.case.rng,
                    self._most_calls,
                    self.series,
                    lambda done, most: self.notify(
                        f"timing {done}/{most}" if by_count else f"timing, {several(done, 'block')}"
                    ),
                    floors=floors,
                )
                graph = [name for name in config.metrics if name == "graph"]
                parts = OF_STEPS if self.case.setting.problem.backward and config.metrics else ()
                further = [name for name in (*config.metrics, *parts) if name not in (arms.metric, "graph")]
                rows = self._rows(arms, further, config)
                described = self._describe()  # by workers that graphs haven't harmed yet
                compiled = self._references.look_back()
                rows += self._rows(arms, graph, config)
                break
            except BaselineFailed as error:
                self._references.leave_out((error.arm,), str(error))
            except (SolutionFailed, torch.OutOfMemoryError) as error:
                if not (len(self._references.ready) > 1 and _lacks_memory(error)):
                    raise
                others = self._references.ready[1:]
                self._references.leave_out(others, "beside it there is too little memory for the solution")
            finally:
                checks += arms.checks
        timing = dataclasses.replace(timing, rows=rows, memory=arms.memory)
        remarks = (*self.case.remarks, *self._references.remarks, *metric_remarks(timing))
        return TimedOutcome(timing, tuple(checks), remarks, compiled, described)

    def _of_those_ready(self) -> TimingConfig:
        references = self._references
        return dataclasses.replace(self._timing, baselines=references.baselines, control="control" in references.ready)

    def _rows(self, arms: WorkerArms, metrics: Sequence[Metric], config: TimingConfig) -> tuple[Row, ...]:
        """Measure further metrics. One in which a baseline that can be done without fails, or which can't be captured
        as a CUDA graph, has no row: all rows are of all arms, and the headline has been measured already. After a graph
        a worker may be of no use any more."""
        buffers, references = self.case.buffers, self._references
        rows: list[Row] = []
        for metric in metrics:
            if metric in MADE_TWICE and self.case.setting.spec.changed_inputs:
                references.remarks.append(
                    f"{metric} isn't measured: its calls are made twice, and Model.forward() changes its inputs"
                )
                continue
            self.notify(f"timing {metric}")
            try:
                rows.append(measure_row(arms, metric, config, self.case.rng, self._most_calls))
            except (SolutionFailed, BaselineFailed, InvalidProblem) as error:  # its worker may not even answer any more
                if metric == "graph":
                    references.remarks.append(f"no CUDA graph of it can be measured: {error}")
                    for worker in (*references.workers.values(), self.case.worker):
                        buffers.forget(worker)
                elif isinstance(error, BaselineFailed):
                    references.remarks.append(f"{metric} isn't measured: {error.arm} fails in it: {error}")
                    buffers.forget(references.workers[error.arm])
                    buffers.freezer.freeze()
                else:
                    raise
        return tuple(rows)

    def _describe(self) -> Described:
        """Ask what the solution did to torch. Raises: SolutionFailed."""
        self.case.buffers.freezer.thaw_only(self.case.worker)
        described = describe_arm(self.case.worker, self.case.config.limits)
        self.case.buffers.freezer.freeze()
        return described

    def _arms(self, phase: str) -> WorkerArms:
        return WorkerArms(self.case, self._references.workers, self.instruments, phase)


def metric_remarks(timing: Timing) -> list[str]:
    """Say why launches count. An arm that waits for the device only while arms warm up has them counted for the
    baseline, whose launches are many."""
    if timing.metric == "gpu_cold":
        return []
    measured = f"{timing.case}: measured end to end, from the call until the device is idle, on both sides: "
    if any(_keeps_its_host(timing, arm) for arm in {turn.arm for turn in timing.turns}):
        why = (
            "an arm waits for the device before it returns, or launches for as long as the device works, so that "
            "launches can't be kept out of its time"
        )
    else:
        why = (
            "while arms warmed up launches came late, but in measured turns no arm waits for the device; it isn't to "
            "be compared with what was measured on the device alone"
        )
    return [measured + why]


def _keeps_its_host(timing: Timing, arm: ArmName) -> bool:
    """Say whether its calls return when the device is done, or nearly; assume it where that isn't known."""
    turns = [turn for turn in timing.turns if turn.arm == arm]
    shares = [part / whole for turn in turns for part, whole in zip(turn.launch_ns, turn.call_ns, strict=False)]
    return not shares or statistics.median(shares) >= _WAITING


def _lacks_memory(error: SolutionFailed | torch.OutOfMemoryError) -> bool:
    """Say whether memory is short. A solution is believed only where the driver, too, says so: it would rather meet
    fewer baselines."""
    if isinstance(error, torch.OutOfMemoryError):
        return True
    return error.verdict is Verdict.OUT_OF_MEMORY and is_memory_scarce()
