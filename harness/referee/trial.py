"""One loaded solution before the referee: case by case, the timed one last."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace

import torch

from harness.builder.workers import Workers
from harness.devices import FLAGS
from harness.model.arms import OF_PRECISION, ReferenceArm
from harness.model.config import Config
from harness.model.timing import TimerOverhead
from harness.model.verdict import Verdict
from harness.referee.answers.invalid_problem import TellsNothing
from harness.referee.audit.auditor import Auditor, gather_facts
from harness.referee.audit.company import excusing_company
from harness.referee.audit.custom import TracedCase, accused_of, remarks_on
from harness.referee.audit.idle_gpu import ProbeKernel
from harness.referee.audit.run_time import Written
from harness.referee.buffers.buffers import open_buffers
from harness.referee.buffers.case_turns import CaseTurns, at, stamped
from harness.referee.buffers.slots import Capacity
from harness.referee.buffers.turns import Weights, describe_arm, flag_remarks, tuning_remarks
from harness.referee.ceilings.work import is_computed_in, work_of
from harness.referee.correctness import Notify, check_case
from harness.referee.found import CaseOutcome, Found
from harness.referee.inputs.draws import fair_variants
from harness.referee.job import Job
from harness.referee.mutants.telling import COPY, describe_drawn, describe_neutral, telling
from harness.referee.sampling import SLOW_S, check_sampled, must_be_sampled
from harness.referee.setting import Setting, prepare_setting
from harness.referee.timing.arms import Instruments
from harness.referee.timing.launch_hold import LaunchHold
from harness.referee.timing.references import made_of, references_of
from harness.referee.timing.series import Series, joined
from harness.referee.timing.settling import Settling, still_fill_ns
from harness.referee.timing.timed_case import TimedCase, TimedOutcome
from harness.sandbox.outcome import SolutionFailed
from harness.sandbox.process import WorkerProcess
from harness.sandbox.wire.messages import Described, FlagChange
from harness.workspace.problem import FULL

_NAMED = 4
"""The most parameters that advice names."""
_NAME = re.compile(r"[\w.]{1,60}")
_NO_FLOORS = (
    "memory was too short to measure the clock's floors: short calls aren't averaged, and no ratio is withheld for them"
)


@dataclass(eq=False)
class Trial:
    """Judges on a GPU; gathers in `found` what every case gives.

    `new_worker` gives a worker that has loaded the solution, a new one each time. `driver`: the version of the GPU's;
    None without a GPU. Raises: SolutionFailed.
    """

    job: Job
    workers: Workers
    new_worker: Callable[[], WorkerProcess]
    found: Found
    notify: Notify
    written: Written
    driver: str | None

    def __post_init__(self) -> None:
        self._changed_at_load: Sequence[FlagChange] = ()
        self._ready: dict[str, Setting] = {}
        self._own_work: list[TracedCase] = []
        """Cases whose values were compared and whose trace accuses nobody."""
        self._sampled: set[str] = set()
        """Cases of which the simulator runs a few blocks alone."""
        self._is_timed = is_timed(self.job, self.workers)
        # Before anything is loaded, so nobody else's word.
        self._still_fill_ns = _still_fill_ns(self.workers.facts) if self._is_timed else None
        if self.workers.host.name == "cuda":  # while workers start up
            first = next(iter(self._untimed_cases), self.job.config.timing.case)
            self._ready[first] = self._prepare(first)
        self._worker = self._load()

    def check(self) -> None:
        """Check all cases but the timed one, the cheap ones first. Where none is timed, a turn of one is traced.

        Raises: SolutionFailed.
        """
        traced = []
        for case in self._untimed_cases:
            traced += self._check_untimed(case)
        self._require_custom(traced)

    def time(self, references: dict[ReferenceArm, WorkerProcess], stack: ExitStack) -> None:
        """Judge the timed case, then measure, as often as the config wants with fresh workers. `references` gets the
        workers that are started for it, and `stack` ends them. What compiling took is that of the first workers.

        Raises: SolutionFailed, InvalidProblem where the reference fails.
        """
        timing = self.job.config.timing
        outcomes: list[TimedOutcome] = []
        with self.found.stage("timing"):
            floors = self.workers.host.timer_overhead()
            if floors is None:
                self.found.remarks += (_NO_FLOORS,)
            else:
                floors = replace(floors, fill_ns=self._still_fill_ns)
        series = Series(timing)
        while not series.is_complete:
            if outcomes:
                self._start_anew(references, stack, f"{len(series.parts) + 1} of {timing.processes}")
            outcomes.append(self._time_once(references, stack, series, floors, repeat=len(outcomes)))
            series.add(outcomes[-1].timing)
        self.found.remarks += series.remarks
        whole = joined(series.parts)
        self.found.timing = whole
        self.found.compiled = tuple(one for one in outcomes[0].compiled if one.baseline in whole.baselines)

    def look_back(self) -> None:
        """Remark on what a solution that isn't timed changed of torch's flags. Raises: SolutionFailed."""
        self._remark_on(describe_arm(self._worker, self.job.config.limits))

    def require_effect(self) -> None:
        """Require, last of all, that values depend on the solution's own kernels, where a trace is no proof of it.

        Raises: SolutionFailed.
        """

    def _load(self) -> WorkerProcess:
        worker = self.new_worker()
        self._changed_at_load = describe_arm(worker, self.job.config.limits).flags
        self.found.remarks += flag_remarks("the solution, on import,", self._changed_at_load)
        return worker

    def _remark_on(self, described: Described) -> None:
        known = self._changed_at_load
        self.found.remarks += flag_remarks("the solution, after its import,", described.flags, known)
        self.found.remarks += tuning_remarks(described)

    def _start_anew(self, references: dict[ReferenceArm, WorkerProcess], stack: ExitStack, which: str) -> None:
        """End all workers, and start the first baseline's and the solution's. Raises: MachineError, SolutionFailed."""
        self.notify(f"starting workers anew, {which}")
        for one in (self._worker, *references.values()):
            one.close()
        references.clear()
        self.workers.host.require_alive()  # what the ended ones left may be a device that is stuck
        references |= {arm: stack.enter_context(self.workers.start()) for arm in references_of(self.job.config.timing)}
        with self.found.stage("load"):
            self._worker = self._load()

    def _time_once(
        self,
        references: dict[ReferenceArm, WorkerProcess],
        stack: ExitStack,
        series: Series,
        floors: TimerOverhead | None,
        repeat: int,
    ) -> TimedOutcome:
        # The buffers go before the workers that have them open.
        with ExitStack() as lending, ProbeKernel() as probe, excusing_company() as telemetry:
            with self.found.stage("timing"):
                setting = self._prepare(self.job.config.timing.case, repeat)
                config = self._beside_its_like(setting)
                auditor = self._auditor(setting)
                capacity = Capacity(config.timing.calls_per_turn, references_of(config.timing))
                buffers = lending.enter_context(open_buffers(setting, self.workers.host, capacity))
                settling = Settling(probe.quickest_ns, self._still_fill_ns)
                instruments = Instruments(LaunchHold(series.metric), auditor, probe, telemetry, settling)
                case = CaseTurns(setting, buffers, self._worker, config, instruments)
                timed = TimedCase(case, references, instruments, series, self.notify)
                timed.warm_up()
            with self.found.stage("correctness"):
                self._keep(timed.check(), setting.varied_for)
            with self.found.stage("timing"):
                self.notify("timing")
                late = [arm for arm in references_of(config.timing) if arm not in references]
                wanted = {arm: made_of(arm, config.timing, self.job.problem, self.job.seed) for arm in late}
                references |= {arm: stack.enter_context(self.workers.lend(wanted[arm])) for arm in late}
                outcome = timed.measure(references, floors)
                self.found.keeps_output |= case.keeps_output
                self.found.checks += outcome.checks
                self.found.remarks += (*outcome.remarks, *telemetry.remarks)
                self._remark_on(outcome.described)
                self._finish(auditor, outcome.timing.least_ns("solution"))
        return outcome

    def _beside_its_like(self, setting: Setting) -> Config:
        """The config, with the reference in the precision that the solution declares as a further baseline, where it
        computes in another by itself."""
        config, precision = self.job.config, self.job.solution_ref.precision
        like = OF_PRECISION.get(precision or "")
        if precision is None or like is None or like in config.timing.baselines:
            return config
        if is_computed_in(precision, setting, FLAGS):
            return config
        return config.but("timing", baselines=(*config.timing.baselines, like))

    @property
    def _untimed_cases(self) -> list[str]:
        """The cases that aren't timed, the cheap ones first."""
        job = self.job
        cases = [case for case in job.cases if not (self._is_timed and case == job.config.timing.case)]
        return sorted(cases, key=lambda name: name == FULL)

    @property
    def _traced_case(self) -> str:
        """The case that stands for the solution: what a GPU would time, else the largest."""
        return self._standing_case or self.job.cases[-1]

    @property
    def _standing_case(self) -> str | None:
        """The case whose work decides, whatever that of other cases is."""
        return next((name for name in (self.job.config.timing.case, FULL) if name in self.job.cases), None)

    def _check_untimed(self, case: str) -> list[TracedCase]:
        return self._check_case(self._prepare(case), is_traced=not self._is_timed and case == self._traced_case)

    def _check_case(self, setting: Setting, is_traced: bool = True) -> list[TracedCase]:
        case = setting.case
        auditor = self._auditor(setting) if is_traced else None
        watch = auditor.check if auditor else None
        host, config = self.workers.host, self.job.config
        with at(case, None):
            if case in self._sampled:
                self.notify(f"checking {case} (sampled blocks)")
                outcome = check_sampled(setting, host, self._worker, config, watch, self._load_anew)
            else:
                outcome = check_case(setting, host, self._worker, config, self.notify, watch)
        self._keep(outcome, setting.varied_for)
        if auditor is None:
            return []
        try:
            audited = auditor.judge()
        except SolutionFailed:
            self.found.trace = auditor.found
            raise
        if case == self._traced_case:
            self.found.trace = audited.trace
        self.found.remarks += audited.remarks
        return [replace(audited, is_compared=bool(outcome.checks))]

    def _load_anew(self) -> WorkerProcess:
        self._worker.close()
        self._worker = self._load()
        return self._worker

    def _require_custom(self, traced: Sequence[TracedCase]) -> None:
        """Require own work of the solution. Raises: SolutionFailed, with the trace that convicts."""
        convicted = accused_of(traced, self._standing_case)
        if convicted is None:
            self.found.remarks += remarks_on(traced)
            self._own_work = [one for one in traced if one.is_compared and not one.accused]
            return
        assert convicted.accused is not None
        self.found.trace = convicted.trace
        raise stamped(convicted.accused, convicted.case)

    def _prepare(self, case: str, repeat: int = 0) -> Setting:
        self.found.case = case
        if ready := self._ready.pop(case, None):
            return ready
        job, lessons = self.job, self.workers.lessons
        problem, source = job.problem, job.problem.source_for(case)
        key = (problem.sha256, source, problem.batch_statistics, problem.keeps_parameters, case, job.seed)
        known = lessons.get(key)
        if known is None or known.is_short:
            known = None
            self.notify(f"trying the reference of {case}")
        tries: tuple[int | str, ...] = (job.tries, *job.again)
        setting = prepare_setting(problem, case, job.seed, self.workers.host.torch_device, repeat, known, tries)
        self.found.precision = setting.precision
        if must_be_sampled(setting, self.workers.host):
            self._sampled.add(case)
            if (setting.lessons.call_s or 0.0) > SLOW_S:
                self.found.remarks.append(
                    f"{case}: sampled, since a call and its right answer take {setting.call_s:.0f} s of the CPU's"
                )
        is_sampled = case in self._sampled
        if known is None:
            if not is_sampled:
                setting.derived()  # finds out which rows are independent
                first = setting.lessons
                try:
                    with first.learning():
                        setting = telling(setting)
                except TellsNothing as error:
                    first.can_not_tell = str(error)
                setting.lessons.is_short |= first.is_short
            for other in [one for one in lessons if (one[0], one[-1]) != (problem.sha256, job.seed)]:
                del lessons[other]
            lessons[key] = setting.lessons
        if setting.lessons.can_not_tell:
            raise TellsNothing(setting.lessons.can_not_tell)
        if drawn := describe_drawn(setting):
            self.found.remarks.append(drawn)
        elif case == job.cases[0] and (neutral := describe_neutral(setting)):
            self.found.remarks.append(neutral)
        if case == job.config.timing.case:
            self.found.work = work_of(setting)
        if not is_sampled:  # now: later the buffers take the memory
            self.found.tolerances[case] = setting.derived()
            if setting.is_tight:
                fair_variants(setting)
        return setting

    def _auditor(self, setting: Setting) -> Auditor:
        driver = self.driver if self._is_timed else None
        can_trace = bool(self._worker.can_trace)
        least_share = self.job.config.correctness.min_own_share
        facts = gather_facts(setting, self.written, self.found.work, self.workers.cache, driver, can_trace, least_share)
        self.found.ceilings = facts.ceilings
        return Auditor(setting.case, self.job.config.timing.baselines[0], facts)

    def _keep(self, outcome: CaseOutcome, varied_for: str | None) -> None:
        """Keep what a case gave. Raises: SolutionFailed where the outcome is a failure."""
        self.found.checks += outcome.checks
        self.found.fragile += outcome.fragile
        self.found.keeps_output |= outcome.keeps_output
        self.found.is_constant |= outcome.is_constant
        self.found.remarks += outcome.remarks
        self.found.weights = outcome.weights.source
        self.found.replaced = outcome.weights.replaced
        self.found.computed_in = outcome.computed_in or self.found.computed_in
        if outcome.failed and outcome.weights.convict:
            raise _with_names(outcome.failed, outcome.weights)
        if outcome.failed:
            raise _without_counterparts(outcome.failed, varied_for) from outcome.failed

    def _finish(self, auditor: Auditor, median_ns: float | None) -> None:
        """Finish the audit. Raises: SolutionFailed, with the trace kept in any case."""
        try:
            self.found.remarks += auditor.finish(median_ns).remarks
        finally:
            self.found.trace = auditor.found


def is_timed(job: Job, workers: Workers) -> bool:
    timing = job.config.timing
    return workers.host.name == "cuda" and timing.enabled and timing.case in job.cases


def _with_names(failed: SolutionFailed, weights: Weights) -> SolutionFailed:
    """Advise first on parameters that got no values of the reference's: of models' kernels these are often all that is
    wrong."""
    own, missing = (", ".join(filter(_NAME.fullmatch, names[:_NAMED])) for names in (weights.own, weights.missing))
    if failed.verdict in (Verdict.WRONG_VALUES, Verdict.NONDETERMINISTIC) and own and missing:
        advice = (
            f"its own {own} got no values of the reference's {missing}: give parameters the names and shapes of "
            "Model's, unless they are drawn like these, in the same order"
        )
        failed.failure = replace(failed.failure, next_step=f"{advice}; {failed.failure.next_step}")
    return failed


class VariedForCopies(SolutionFailed):
    """Parameters are varied against copies of the input alone, and the solution has others."""


def _without_counterparts(failed: SolutionFailed, varied_for: str | None) -> SolutionFailed:
    kind = VariedForCopies if varied_for == COPY else SolutionFailed
    return kind(
        Verdict.UNSUPPORTED,
        "parameters are varied here, and the solution didn't have all of the reference's when its constructor ended: "
        f"what it derives from its own may be right with those. With them: {failed}",
        failed.failure.details,
        "make parameters as the reference does: the same layers of torch.nn in the same order, under the same names",
    )


def _still_fill_ns(facts: dict[str, str]) -> int | None:
    """Measure still_fill_ns(), once in a run; None where memory is too short to ask."""
    if "still_fill_ns" not in facts:
        with contextlib.suppress(torch.OutOfMemoryError), ProbeKernel() as probe:
            facts["still_fill_ns"] = str(still_fill_ns(probe.quickest_ns))
    return int(facts["still_fill_ns"]) if "still_fill_ns" in facts else None
