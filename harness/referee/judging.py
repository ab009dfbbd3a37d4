"""Judging one solution: as often as it takes to be fair to it, each time with workers and inputs of its own."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack, nullcontext, suppress
from dataclasses import dataclass, replace
from typing import Any

from harness.builder.build import BuildOutcome
from harness.builder.workers import Workers, bring
from harness.errors import Interrupted, MachineError
from harness.model.arms import ReferenceArm
from harness.model.environment import Environment
from harness.model.verdict import Verdict
from harness.referee.answers.invalid_problem import InvalidProblem
from harness.referee.answers.reference import keeps_statistics
from harness.referee.audit.company import excusing_company
from harness.referee.audit.run_time import Written
from harness.referee.buffers.turns import load_arm
from harness.referee.correctness import Notify
from harness.referee.found import Found
from harness.referee.job import Job
from harness.referee.memory import require_host_memory, require_memory
from harness.referee.shortage import is_shortage, judge_shortage, let_go
from harness.referee.simulated_trial import SimulatedTrial
from harness.referee.timing.references import made_of, references_of
from harness.referee.trial import Trial, VariedForCopies, is_timed
from harness.sandbox.outcome import SolutionFailed
from harness.sandbox.process import WorkerProcess
from harness.sandbox.wire.means import is_at_least
from harness.workspace.problem import Problem

_NOT_VARIED = (
    "parameters aren't varied, since the solution has others than Model: with those of __init__ a copy of the input "
    "would pass"
)
_WITH_OWN = "wrong with Model's values in its parameters: judged and timed with those that its constructor makes"
_IN_TRAINING = "wrong in eval(): judged and timed with the batch's statistics, as in training mode"


@dataclass(frozen=True)
class Judging:
    """One solution under the referee's eyes, on workers of one device; `found` gathers what comes out."""

    job: Job
    workers: Workers
    environment: Environment
    built: BuildOutcome
    found: Found
    notify: Notify
    is_last: bool

    def in_either_way(self) -> None:
        """Judge, with parameters as the reference makes them where varied ones that only show copies of the input can't
        be given to the solution."""
        try:
            self.in_any_mode()
            return
        except VariedForCopies as error:
            let_go(error)
        problem = replace(self.job.problem, keeps_parameters=True)
        again = self._again("unvaried", "with parameters as Model makes them", _NOT_VARIED, problem=problem)
        try:
            again.in_any_mode()
        finally:
            self.found.become(again.found)

    def in_any_mode(self) -> None:
        """Judge in eval(), with Model's values in parameters; where values are wrong, as KernelBench does, too. It only
        seeds, so that what a constructor folds into a parameter stays. And it runs modules in training mode, where
        normalisations take the batch's statistics. Whoever is right in one of these is right; answers that vary in one
        say more than those that are wrong throughout."""
        try:
            self.or_blame()
            return
        except SolutionFailed as error:
            if isinstance(error, VariedForCopies) or not _has_wrong_values(error):
                raise
            failed = error
        let_go(failed)
        for number, (problem, remarks) in enumerate(self._other_modes(), 1):
            again = self._again(f"mode {number}", "as KernelBench does", *remarks, problem=problem)
            try:
                again.or_blame()
            except InvalidProblem as error:
                let_go(error)
                continue
            except SolutionFailed as error:
                if not _has_wrong_values(error):
                    self.found.become(again.found)
                    raise
                let_go(error)
                if failed.verdict is Verdict.WRONG_VALUES and error.verdict is Verdict.NONDETERMINISTIC:
                    self.found.become(again.found)
                    failed = error
                continue
            self.found.become(again.found)
            return
        raise failed

    def _other_modes(self) -> list[tuple[Problem, list[str]]]:
        """The problem in each mode besides the first in which this solution may be right, with remarks that say so."""
        modes = [(self.job.problem, list[str]())]
        if self.found.replaced:
            modes += [(replace(problem, own_parameters=True), [*remarks, _WITH_OWN]) for problem, remarks in modes]
        if any(keeps_statistics(self.job.problem, case) for case in self.job.cases):  # rows depend on each other then
            modes += [
                (replace(problem, batch_statistics=True, independent_batch=False), [*remarks, _IN_TRAINING])
                for problem, remarks in modes
            ]
        return modes[1:]

    def or_blame(self) -> None:
        """Judge once; where the GPU's memory runs out, or another program is on it, find out whose fault that is."""
        is_gpu, had_idle = self.workers.host.name == "cuda", bool(self.workers.idle)
        try:
            with excusing_company() if is_gpu else nullcontext():
                self.once()
        except Exception as error:
            if not is_gpu:
                raise
            is_short = is_shortage(error)
            if had_idle and (is_short or isinstance(error, InvalidProblem)):
                self._anew(error)
                return
            if self.found.case is None or not is_short:
                raise
            self.notify("trying again with the reference in the solution's place")
            was_timed = "timing" in self.found.stages_s
            judged = judge_shortage(error, self.job, self.found.case, was_timed, self.workers)
            if judged is error:
                raise
            raise judged from error

    def _anew(self, error: Exception) -> None:
        """Judge again with workers that are all started for this solution: others may have held the memory, or have
        failed with what they had made."""
        let_go(error)
        self.workers.end_idle()
        again = self._again("anew", "without what stayed for it")
        try:
            again.or_blame()
        finally:
            self.found.become(again.found)

    def _again(self, name: str, how: str, *remarks: str, **of_job: Any) -> Judging:
        """Another try, whose job differs in these fields; it gathers findings of its own. By its `name` it has inputs
        that no other try has: in any of them the solution may have kept what it saw, and have asked to be begun
        anew."""
        self.notify(f"trying again {how}")
        job = replace(self.job, again=(*self.job.again, name), **of_job)
        return replace(self, job=job, found=Found(remarks=list(remarks)))

    def once(self) -> None:
        """Load, check, time. All workers that the solution could reach have ended when it returns or raises."""
        timing, notify, found = self.job.config.timing, self.notify, self.found
        is_gpu, will_be_timed = self.workers.host.name == "cuda", is_timed(self.job, self.workers)
        has_room = is_gpu and require_memory(self.job.problem, self.job.cases)
        if not is_gpu:
            require_host_memory(self.job.problem, self.job.cases)
        with ExitStack() as stack:
            stack.callback(self._leave_idle, has_room)
            started = [self._started(stack)]  # first: it is asked first
            references: dict[ReferenceArm, WorkerProcess] = {}
            if will_be_timed:  # all start up while the reference is made ready
                wanted = {arm: made_of(arm, timing, self.job.problem, self.job.seed) for arm in references_of(timing)}
                self.workers.end_others(wanted.values())
                references |= {arm: stack.enter_context(self.workers.lend(wanted[arm])) for arm in wanted}

            def load() -> WorkerProcess:
                worker = started.pop() if started else self._started(stack)
                stack.callback(self._end_all, worker, references, has_room)
                self._load(worker, is_seen=will_be_timed)
                return worker

            with found.stage("load"):
                notify("loading")
                kind = Trial if is_gpu else SimulatedTrial
                written = Written(self.built.builds, self.job.solution_ref.files)
                driver = self.environment.driver if is_gpu else None
                trial = kind(self.job, self.workers, load, found, notify, written, driver)
                self.workers.await_idle()  # what follows tells by times who is honest, and is to be alone
            with found.stage("correctness"):
                trial.check()
            if will_be_timed:
                trial.time(references, stack)
                return
            if not found.checks:
                raise SolutionFailed(Verdict.UNSUPPORTED, "on this backend no case could be compared with the oracle")
            if is_gpu and timing.enabled:
                found.remarks.append(f"not timed: case '{timing.case}' was not asked for")
            trial.look_back()
            with found.stage("correctness"):
                trial.require_effect()

    def _started(self, stack: ExitStack) -> WorkerProcess:
        worker = self.workers.start()
        stack.callback(_note_end, worker, self.found)
        return stack.enter_context(worker)

    def _may_stay(self, has_room: bool) -> bool:
        """Say whether workers for the next solution may be there beside this one, which must not reach them."""
        return has_room and not self.is_last and is_at_least(self.found.confinement or "none", "full")

    def _leave_idle(self, has_room: bool) -> None:
        if not self._may_stay(has_room):
            self.workers.end_idle()

    def _end_all(self, worker: WorkerProcess, references: Mapping[ReferenceArm, WorkerProcess], has_room: bool) -> None:
        """End them together: the driver takes half a second to clean up after each, and whoever closes them waits for
        that. Meanwhile the next solution's start."""
        for one in (worker, *(each for each in references.values() if each.made is None and not each.is_unused)):
            one.kill()
        if self._may_stay(has_room) and not self.workers.stop.is_set():
            with suppress(MachineError, Interrupted):  # whoever needs one says so
                self.workers.start_ahead(1 + len(references))

    def _load(self, worker: WorkerProcess, is_seen: bool) -> None:
        """Load the solution. `is_seen`: a baseline shows whether tracing works there, which takes time to try."""
        job, limits = self.job, self.job.config.limits
        path = bring(worker, job.solution.folder, job.solution_ref.sha256, self.built.compilers)
        self.found.protections, self.found.confinement = worker.protections, worker.confinement
        if self.workers.host.name == "cuda" and not is_seen:
            worker.try_trace(limits.load_s)
        load_arm(worker, path, "ModelNew", limits, compilers=self.built.compilers)


def _has_wrong_values(error: SolutionFailed) -> bool:
    """Say whether values were wrong, also where that alone convicts nobody, or only at times."""
    cause = error.__cause__
    of_cause = cause.verdict if isinstance(cause, SolutionFailed) else None
    return Verdict.WRONG_VALUES in (error.verdict, of_cause)


def _note_end(worker: WorkerProcess, found: Found) -> None:
    if remark := worker.leftovers.remark:
        found.remarks.append(remark)
