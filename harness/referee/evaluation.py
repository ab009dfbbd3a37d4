"""One evaluation from a built solution to its immutable record."""

from __future__ import annotations

import datetime
import secrets
import time
import traceback
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field

from harness.errors import HarnessError
from harness.records.check import Check
from harness.records.config import Config
from harness.records.environment import Environment
from harness.records.evaluation import Evaluation, Failure, ProblemRef, SolutionRef, WeightsSource, Work
from harness.records.timing import Baseline, Timing
from harness.records.verdict import Verdict
from harness.referee.advice import advice_for
from harness.referee.build import BuildOutcome
from harness.referee.correctness import Notify, check_case
from harness.referee.outcome import SolutionFailed
from harness.referee.reference import InvalidProblem
from harness.referee.setting import prepare_setting
from harness.referee.shortage import Attempt, blame_solution, is_shortage_of_ours
from harness.referee.timed_case import time_solution
from harness.referee.turns import load_arm
from harness.referee.work import work_of
from harness.referee.worker_process import Interrupted, WorkerProcess, Workers
from harness.workspace.problem import FULL, Problem
from harness.workspace.selection import Task
from harness.workspace.solution import Solution


@dataclass(frozen=True)
class Job:
    """What to evaluate, and under which settings."""

    run: str
    problem: Problem
    solution: Solution
    cases: tuple[str, ...]
    config: Config
    seed: int
    problem_ref: ProblemRef
    solution_ref: SolutionRef


def make_job(run: str, task: Task, config: Config, seed: int) -> Job:
    """A job with the hashes of its files as they are now, before any code of the solution runs."""
    problem, solution, about = task.problem, task.solution, task.solution.about
    return Job(
        run=run,
        problem=problem,
        solution=solution,
        cases=task.cases,
        config=config,
        seed=seed,
        problem_ref=ProblemRef(problem.name, problem.sha256, problem.precision, problem.title),
        solution_ref=SolutionRef(
            name=solution.name,
            sha256=solution.sha256,
            author=about.author,
            precision=about.precision,
            expected_verdict=about.expected_verdict,
            explanation=about.explanation.strip(),
            files=solution.texts(),
        ),
    )


@dataclass
class _Findings:
    """What an evaluation has gathered so far; becomes the record however it ends."""

    checks: list[Check] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    stages_s: dict[str, float] = field(default_factory=dict)
    weights: WeightsSource | None = None
    timing: Timing | None = None
    work: Work | None = None
    case: str | None = None
    """The one that is being judged or timed."""


def evaluate(
    job: Job,
    workers: Workers | None,
    environment: Environment,
    built: BuildOutcome,
    notify: Notify = lambda what: None,
) -> Evaluation:
    """Judge and time one solution. Raises nothing on the solution's account, the problem's or ours.

    A failed build is recorded without a worker: `workers` may be None then.

    Raises: Interrupted where the run was told to stop.
    """
    started_at, started = datetime.datetime.now(datetime.timezone.utc), time.monotonic()
    found = _Findings(stages_s={"build": built.seconds})
    verdict, failure = Verdict.PASSED, None
    try:
        if built.failed:
            raise built.failed
        assert workers is not None
        _run(job, workers, found, notify)
    except SolutionFailed as error:
        verdict, failure = error.verdict, error.failure
    except InvalidProblem as error:
        verdict, failure = Verdict.INVALID_PROBLEM, _failure(Verdict.INVALID_PROBLEM, str(error))
    except Interrupted:
        raise
    except Exception as error:  # the border: what is left is our fault or the machine's, and is recorded as such
        text = str(error) if isinstance(error, HarnessError) else f"{type(error).__name__}: {error}"
        verdict, failure = Verdict.HARNESS_ERROR, _failure(Verdict.HARNESS_ERROR, text, traceback.format_exc())
    return Evaluation(
        id=_new_id(started_at),
        run=job.run,
        started_at=started_at.isoformat(timespec="milliseconds"),
        duration_s=built.seconds + time.monotonic() - started,
        problem=job.problem_ref,
        solution=job.solution_ref,
        cases=job.cases,
        config=job.config,
        environment=environment,
        seed=job.seed,
        verdict=verdict,
        weights=found.weights,
        failure=failure,
        builds=built.builds,
        checks=tuple(found.checks),
        timing=found.timing if verdict.passed else None,
        work=found.work,
        remarks=tuple(dict.fromkeys(found.remarks)),
        stages_s=found.stages_s,
    )


def _run(job: Job, workers: Workers, found: _Findings, notify: Notify) -> None:
    try:
        _judge(job, workers, found, notify)
    except Exception as error:  # passed on in any case
        if workers.host.name != "cuda" or found.case is None or not is_shortage_of_ours(error):
            raise
        notify("trying again without the solution")
        attempt = Attempt(job.problem, found.case, job.seed, job.config, "timing" in found.stages_s)
        if blamed := blame_solution(error, attempt, workers):
            raise blamed from error
        raise


def _judge(job: Job, workers: Workers, found: _Findings, notify: Notify) -> None:
    """All its workers have ended when it returns or raises."""
    config, host = job.config, workers.host
    timed = host.name == "cuda" and config.timing.enabled and config.timing.case in job.cases
    with ExitStack() as stack:
        worker = stack.enter_context(workers.start())
        first, *others = config.timing.baselines
        references = {first: stack.enter_context(workers.start())} if timed else {}  # starts up meanwhile
        stack.callback(_kill_all, worker, references)
        workers.replenish()
        with _Stage(found, "load"):
            notify("loading")
            load_arm(worker, str(job.solution.source_path), "ModelNew", config.limits)
        with _Stage(found, "correctness"):
            for case in sorted(job.cases, key=lambda name: name == FULL):  # the cheap ones first
                _check_case(job, case, workers, worker, found, notify)
        if not found.checks:
            raise SolutionFailed(Verdict.UNSUPPORTED, "on this backend no case could be compared with the oracle")
        if host.name == "cuda" and config.timing.enabled and not timed:
            found.remarks.append(f"not timed: case '{config.timing.case}' was not asked for")
        if timed:
            with _Stage(found, "timing"):
                notify("timing")
                found.case = config.timing.case
                workers.settle()
                references |= {name: stack.enter_context(workers.start()) for name in others}
                setting = prepare_setting(job.problem, config.timing.case, job.seed, host.torch_device)
                outcome = time_solution(setting, host, worker, references, config, notify)
                found.timing = outcome.timing
                found.checks += outcome.checks
                found.remarks += outcome.remarks


def _check_case(job: Job, case: str, workers: Workers, worker: WorkerProcess, found: _Findings, notify: Notify) -> None:
    host = workers.host
    found.case = case
    setting = prepare_setting(job.problem, case, job.seed, host.torch_device)
    if case == job.config.timing.case:
        found.work = work_of(setting)
    outcome = check_case(setting, host, worker, job.config, notify)
    found.checks += outcome.checks
    found.remarks += outcome.remarks
    found.weights = outcome.weights
    if outcome.failed:
        raise outcome.failed


def _kill_all(worker: WorkerProcess, references: Mapping[Baseline, WorkerProcess]) -> None:
    """Together: the driver takes half a second to clean up after each, and whoever closes them waits for that."""
    for one in (worker, *references.values()):
        one.kill()


class _Stage:
    """Context: the wall-clock seconds of a stage, kept however it ends."""

    def __init__(self, found: _Findings, name: str) -> None:
        self._found = found
        self._name = name

    def __enter__(self) -> None:
        self._started = time.monotonic()

    def __exit__(self, *_: object) -> None:
        self._found.stages_s[self._name] = time.monotonic() - self._started


def _failure(verdict: Verdict, reason: str, details: str | None = None) -> Failure:
    return Failure(reason, advice_for(verdict, ""), details=details)


def _new_id(now: datetime.datetime) -> str:
    return f"{now:%Y%m%dT%H%M%S}-{secrets.token_hex(4)}"
