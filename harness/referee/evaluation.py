"""One evaluation from a built solution to its immutable record."""

from __future__ import annotations

import datetime
import re
import secrets
import time
import traceback
from dataclasses import replace

from harness.builder.build import BuildOutcome
from harness.builder.workers import Workers
from harness.devices import beyond_simulator
from harness.errors import HarnessError, Interrupted
from harness.model.environment import Environment
from harness.model.evaluation import Evaluation, Failure, ProblemRef, SolutionRef, SpeedOfLight
from harness.model.languages import TRITON, is_in_hip, languages_in, python_languages_in
from harness.model.own_lines import in_own_lines
from harness.model.roofline import arithmetic_of, at_clocks_seen, kept_light, speed_of_light
from harness.model.verdict import Verdict
from harness.referee.answers.invalid_problem import InvalidProblem
from harness.referee.correctness import Notify
from harness.referee.found import Found
from harness.referee.job import Job
from harness.referee.judging import Judging
from harness.referee.outage import Outage, settled, suspected
from harness.referee.shortage import let_go
from harness.referee.unchanged import change_meanwhile
from harness.sandbox.outcome import SolutionFailed, advice_for
from harness.sandbox.process import TextsNotBuilt

_OF_UNSEEN_CAUSE = (Verdict.WRONG_VALUES, Verdict.NONDETERMINISTIC)
_IS_EXPLAINED = re.compile(r"\bexplains? it\b|shares its memory")
_SEES_MORE = "'--backend sim --sanitize' shows races, accesses out of bounds and reads of what nothing wrote"
_SEES_MORE_OF_TRITON = "'--backend sim' shows accesses out of bounds"


def evaluate(
    job: Job,
    workers: Workers | None,
    environment: Environment,
    built: BuildOutcome,
    notify: Notify = lambda what: None,
    is_last: bool = True,
) -> Evaluation:
    """Judge and time one solution. Raises nothing on the solution's account, the problem's or ours.

    A failed build is recorded without a worker: `workers` may be None then. Unless it `is_last`, the next one's workers
    are started on a GPU when this solution's have ended, and some that have made the reference's modules stay for it.

    Raises: Interrupted where the run was told to stop; TextsNotBuilt where the solution came to extensions that are to
    be built first; Outage where the machine may be at fault, and this was the first try.
    """
    started_at, started = datetime.datetime.now(datetime.timezone.utc), time.monotonic()
    found = Found(stages_s={"build": built.seconds})
    verdict, failure = Verdict.PASSED, None
    try:
        _require_fit(job, environment)
        if built.failed:
            raise built.failed
        assert workers is not None
        Judging(job, workers, environment, built, found, notify, is_last).in_either_way()
    except (Interrupted, TextsNotBuilt):
        raise
    except Exception as error:
        if not job.outages and (what := suspected(error)):
            let_go(error)
            raise Outage(what) from None
        verdict, failure = _verdict_on(settled(error))
        if failure and verdict is Verdict.NO_CUSTOM_KERNEL and built.beyond_simulator:  # on a GPU its own would run
            reason = f"{built.beyond_simulator[0]}; {failure.reason}"
            verdict, failure = Verdict.UNSUPPORTED, replace(failure, reason=reason, next_step="run it on a GPU")
        let_go(error)  # now: its frames refer to it, and would keep the GPU's memory until Python collects garbage
    if changed := change_meanwhile(job.problem, job.problem_ref.sha256):
        is_cheat = isinstance(changed, SolutionFailed)
        verdict = Verdict.CHEATING if is_cheat else Verdict.HARNESS_ERROR
        failure = changed.failure if isinstance(changed, SolutionFailed) else _failure(verdict, str(changed))
    seconds = built.seconds + time.monotonic() - started
    return _recorded(job, environment, built, found, verdict, failure, started_at, seconds)


def _verdict_on(error: Exception) -> tuple[Verdict, Failure | None]:
    """The verdict where judging ended so. What is neither the solution's fault nor the problem's is ours."""
    if isinstance(error, SolutionFailed):
        return error.verdict, error.failure
    if isinstance(error, InvalidProblem):
        return Verdict.INVALID_PROBLEM, _failure(Verdict.INVALID_PROBLEM, str(error))
    text = str(error) if isinstance(error, HarnessError) else f"{type(error).__name__}: {error}"
    details = "".join(traceback.format_exception(error))
    return Verdict.HARNESS_ERROR, _failure(Verdict.HARNESS_ERROR, text, details)


def _is_for_another_gpu(job: Job, environment: Environment) -> bool:
    return environment.backend == "cuda" and not job.solution.about.runs_on(environment.compute_capability)


def _require_fit(job: Job, environment: Environment) -> None:
    """Raises: SolutionFailed where this machine can say nothing of the solution."""
    if not _is_for_another_gpu(job, environment):
        return
    needed = str(job.solution.about.compute_capability)
    named = f"{needed[:-1]} or newer" if needed.endswith("+") else needed
    raise SolutionFailed(
        Verdict.UNSUPPORTED,
        f"it runs on GPUs of compute capability {named}, says solution.yaml; this one ({environment.gpu}) has "
        f"{environment.compute_capability}",
        next_step="run it on such a GPU; nothing is said of it here",
    )


def _recorded(
    job: Job,
    environment: Environment,
    built: BuildOutcome,
    found: Found,
    verdict: Verdict,
    failure: Failure | None,
    started_at: datetime.datetime,
    seconds: float,
) -> Evaluation:
    problem = replace(job.problem_ref, precision=found.precision or job.problem_ref.precision)
    light = _speed_of_light(job, problem, environment, found)
    return Evaluation(
        id=f"{started_at:%Y%m%dT%H%M%S}-{secrets.token_hex(4)}",
        run=job.run,
        started_at=started_at.isoformat(timespec="milliseconds"),
        duration_s=seconds,
        problem=problem,
        solution=with_expectation(job, environment, verdict),
        cases=job.cases,
        config=job.config,
        environment=environment,
        seed=job.seed,
        verdict=verdict,
        weights=found.weights,
        failure=failure
        and _with_advice(in_own_lines(failure, job.solution_ref.files), verdict, job, environment, found),
        builds=built.builds,
        checks=tuple(found.checks),
        tolerances=tuple(one for derived in found.tolerances.values() for one in derived),
        fragile=tuple(found.fragile),
        keeps_output=found.keeps_output,
        computed_in=found.computed_in,
        timing=found.timing if verdict.passed else None,
        compiled=found.compiled if verdict.passed else (),
        work=found.work,
        ceilings=found.ceilings,
        speed_of_light=light,
        trace=found.trace,
        protections=found.protections,
        confinement=found.confinement,
        remarks=tuple(dict.fromkeys((*_on_tries(job), *(() if built.failed else built.missing), *found.remarks))),
        stages_s=found.stages_s,
    )


def _on_tries(job: Job) -> list[str]:
    return [f"try {number} ended so, and all was tried again: {what}" for number, what in enumerate(job.outages, 1)]


def _with_advice(failure: Failure, verdict: Verdict, job: Job, environment: Environment, found: Found) -> Failure:
    """Say what may show the cause, where the reason doesn't tell it. Races and reads are looked for in CUDA alone."""
    is_wrong = any(not check.passed for check in (*found.checks, *found.fragile))
    is_unseen = verdict in _OF_UNSEEN_CAUSE or (verdict is Verdict.UNSUPPORTED and is_wrong)
    languages = languages_in(job.solution_ref.files)
    may_see = None
    if "CUDA" in languages and not job.config.correctness.sanitize:
        may_see = _SEES_MORE
    elif TRITON.name in languages and environment.backend == "cuda":
        may_see = _SEES_MORE_OF_TRITON
    if may_see is None or not is_unseen or _IS_EXPLAINED.search(failure.reason):
        return failure
    return replace(failure, next_step=f"{failure.next_step}; {may_see}")


def with_expectation(job: Job, environment: Environment, verdict: Verdict) -> SolutionRef:
    """Say what was expected.

    A solution that says it needs another GPU isn't judged on this one. One in a language that isn't installed, and
    without a GPU one that says it needs a GPU, is expected to be unsupported. Its files must show the reason: that
    something is missing or refused is the word of a worker, which anybody can give. If it is judged all the same, what
    it says counts.
    """
    if _is_for_another_gpu(job, environment):
        return replace(job.solution_ref, expected_verdict=Verdict.UNSUPPORTED)
    if verdict is not Verdict.UNSUPPORTED:
        return job.solution_ref
    files = job.solution_ref.files
    languages = python_languages_in(files)
    missing = [one for one in languages if not one.is_installed]
    if environment.backend == "cuda":
        is_expected = is_in_hip(files) or any(one.is_needed_by(files.get("solution.py", "")) for one in missing)
    else:
        says_so = job.solution.about.needs_gpu and (languages or beyond_simulator(files))
        is_expected = bool(missing or is_in_hip(files) or says_so)
    return replace(job.solution_ref, expected_verdict=verdict) if is_expected else job.solution_ref


def _speed_of_light(job: Job, problem: ProblemRef, environment: Environment, found: Found) -> SpeedOfLight | None:
    """Set the work against the ceilings at the clocks seen, which `found` keeps, with a remark on who is faster."""
    if found.work is None or found.ceilings is None:
        return None
    found.ceilings = at_clocks_seen(found.ceilings, found.timing)
    arithmetic = arithmetic_of(job.solution_ref.precision, problem.precision, environment.flags, found.work)
    light = speed_of_light(found.work, found.ceilings, arithmetic)
    if found.timing is None:
        return light
    light, remark = kept_light(light, found.timing.time_ns("solution"))
    found.remarks += (remark,) if remark else ()
    return light


def _failure(verdict: Verdict, reason: str, details: str | None = None) -> Failure:
    return Failure(reason, advice_for(verdict, reason), details=details)
