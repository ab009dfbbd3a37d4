"""Answers on whether a solution is slower than it was: which entry of the snapshot an evaluation may be compared with,
three answers from one measurement, and one from several."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from harness.gate.policy import Policy
from harness.gate.snapshot import Snapshot
from harness.model.environment import Environment
from harness.model.evaluation import Evaluation
from harness.model.gate import Accepted, Speed
from harness.model.statistics import Interval, ratio

_FLAG_SHOWN = 40


def counterpart(snapshot: Snapshot | None, evaluation: Evaluation) -> Accepted | None:
    """The accepted entry of the solution; None where the snapshot has no time of it."""
    about = evaluation.problem.name, evaluation.solution.name
    return nearest(snapshot, *about, evaluation.environment) if snapshot else None


def obstacle(accepted: Accepted, evaluation: Evaluation) -> str | None:
    """Say why they can't be compared; None where they can."""
    timing = evaluation.timing
    if accepted.times is None:
        return "the accepted evaluation has no time that can be compared with"
    if accepted.problem_sha256 != evaluation.problem.sha256:
        return "the problem's files have changed since its speed was accepted"
    if timing and timing.case != accepted.times.case:
        return f"case '{timing.case}' was timed, '{accepted.times.case}' was accepted"
    if timing and timing.metric != accepted.times.metric:
        return f"times are {timing.metric}, {accepted.times.metric} was accepted"
    if timing and accepted.times.baseline not in timing.baselines:
        return f"the accepted speed-up is over '{accepted.times.baseline}', which was not measured"
    return None


def nearest(snapshot: Snapshot, problem: str, solution: str, environment: Environment) -> Accepted | None:
    """The entry of what passed on the same GPU, else on another."""
    entries = [e for e in snapshot.of(problem, solution) if e.environment.backend == "cuda" and e.verdict.passed]
    return min(entries, key=lambda e: (e.environment.gpu != environment.gpu, e.device), default=None)


def differences(accepted: Environment, here: Environment) -> list[str]:
    """The facts in which two environments differ, for people: 'driver 580.65 there, 590.1 here'."""
    found = []
    for field in dataclasses.fields(Environment):
        there_value, here_value = getattr(accepted, field.name), getattr(here, field.name)
        if field.name == "flags":
            there_flags, here_flags = accepted.telling_flags, here.telling_flags
            names = sorted(there_flags.keys() | here_flags.keys())
            found += [_difference(n, there_flags.get(n), here_flags.get(n)) for n in names]
        elif field.name not in ("commit", "gpu_uuid", "triton"):
            found.append(_difference(field.name, there_value, here_value))
    return [line for line in found if line]


def other_environments(snapshot: Snapshot, solutions: Iterable[tuple[str, str]], here: Environment) -> list[str]:
    """List what differs between here and where the named solutions were accepted; empty where nothing does."""
    found: dict[str, None] = {}
    for problem, solution in solutions:
        entry = nearest(snapshot, problem, solution, here)
        if entry and entry.environment.fingerprint != here.fingerprint:
            found.update(dict.fromkeys(differences(entry.environment, here)))
    return list(found)


@dataclass(frozen=True)
class SpeedAnswers:
    """One evaluation's answers: against the snapshot's speed-up, and against the policy's least.

    An answer is None where the question isn't asked. `why` says what makes an answer inconclusive.
    """

    speedup: Interval | None = None
    against_snapshot: Interval | None = None
    change: Speed | None = None
    least: Speed | None = None
    why: str | None = None


def speed_answers(evaluation: Evaluation, accepted: Accepted | None, demands: Policy) -> SpeedAnswers:
    """`accepted` is an entry that this evaluation may be compared with, see obstacle(); None: nothing to compare."""
    timing, speedup = evaluation.timing, evaluation.speedup
    change: Speed | None = "inconclusive" if accepted else None
    least: Speed | None = "inconclusive" if demands.least_speedup is not None else None
    if timing is None or speedup is None or timing.is_doubtful:
        return SpeedAnswers(speedup, change=change, least=least, why=timing.noise if timing else "it was not timed")
    against = None
    if accepted and accepted.times and accepted.speedup:
        new = timing.speedup_over(accepted.times.baseline)
        against = ratio(new, accepted.speedup) if new else None
        change = _change(against, demands.largest_slowdown) if against else "inconclusive"
    if demands.least_speedup is not None:
        least = _side(speedup, demands.least_speedup)
    return SpeedAnswers(speedup, against, change, least, timing.noise or "the interval reaches over the limit")


def conclude(answers: Sequence[Speed]) -> Speed:
    """One answer from the first measurement and those that repeat it.

    A regression stands if all repetitions (the first, where there is none) find it; a clean measurement stands if none
    found one. What contradicts itself is inconclusive.
    """
    fine = [answer for answer in answers if answer in ("improved", "unchanged")]
    if fine and "regressed" not in answers:
        return "improved" if all(answer == "improved" for answer in fine) else "unchanged"
    if not fine and all(answer == "regressed" for answer in answers[1:] or answers):
        return "regressed"
    return "inconclusive"


def is_suspect(measurements: Sequence[SpeedAnswers]) -> bool:
    """True while a question has no clean answer, so that measuring again may change the conclusion."""
    changes = [m.change for m in measurements if m.change]
    leasts = [m.least for m in measurements if m.least]
    return any(answers and not {"improved", "unchanged"} & set(answers) for answers in (changes, leasts))


def _change(against: Interval, largest_slowdown: float) -> Speed:
    side = _side(against, 1 / (1 + largest_slowdown))
    return "improved" if side == "unchanged" and against.low > 1 else side


def _side(interval: Interval, limit: float) -> Speed:
    """'unchanged' where the whole interval is at the limit or above, 'regressed' where it is below."""
    if interval.high < limit:
        return "regressed"
    return "unchanged" if interval.low >= limit else "inconclusive"


def _difference(name: str, there: object, here: object) -> str:
    return "" if there == here else f"{name} {_shown(there)} there, {_shown(here)} here"


def _shown(value: object) -> str:
    return "unknown" if value is None else str(value)[:_FLAG_SHOWN]
