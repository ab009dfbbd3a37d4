"""The decision on each solution: its evaluations, the snapshot and the policy in, findings out."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

from harness.gate.places import first_line, places_of
from harness.gate.policy import Policy
from harness.gate.snapshot import Snapshot
from harness.gate.speed import SpeedAnswers, conclude, counterpart, is_suspect, obstacle, speed_answers
from harness.model.environment import of_several_gpus
from harness.model.evaluation import Evaluation
from harness.model.gate import (
    RULES,
    Accepted,
    GateAttempt,
    GateFinding,
    Judged,
    Level,
    Location,
    Rule,
    Speed,
    Waiver,
    device_of,
)
from harness.model.verdict import Verdict


@dataclass(frozen=True)
class Terms:
    """The terms by which every solution is judged. `not_judged`: why nobody's performance is, None where it is."""

    policy: Policy
    snapshot: Snapshot | None
    today: datetime.date
    not_judged: str | None = None


def judge(subject: Judged, evaluations: Sequence[Evaluation], terms: Terms) -> Judged:
    """`subject` with what comes of its evaluations, which are in the order of time."""
    findings = _correctness(subject, evaluations, terms.snapshot) + _expectation(subject, terms.snapshot)
    measurements = _measurements(subject, evaluations, terms)
    against = counterpart(terms.snapshot, evaluations[-1]) if evaluations and measurements else None
    if measurements:
        findings += _performance(subject, evaluations[-1], measurements, against, terms)
    answers = [m.change for m in measurements if m.change]
    attempts = [
        _attempt(e, m) for e, m in zip(evaluations, measurements or [SpeedAnswers()] * len(evaluations), strict=True)
    ]
    return replace(
        subject,
        attempts=tuple(attempts),
        findings=tuple(_waived(finding, subject, terms) for finding in findings),
        accepted=against.speedup if against else None,
        speed=conclude(answers) if answers else None,
    )


def needs_another_measurement(subject: Judged, evaluations: Sequence[Evaluation], terms: Terms) -> bool:
    """True for a suspect: right, but slower than it may be, or not clearly as fast."""
    return is_suspect(_measurements(subject, evaluations, terms))


def missing(subject: Judged, why: str, next_step: str, place: Location | None = None) -> Judged:
    """`subject`, which couldn't even be evaluated. `place`: None for the first line of solution.py."""
    places = (place,) if place else first_line(subject.problem, subject.solution)
    finding = GateFinding("missing_result", "failed", why, next_step, places)
    return replace(subject, findings=(finding,))


def waiver_remarks(judged: Sequence[Judged], policy: Policy, today: datetime.date) -> list[str]:
    """Waivers that are past their day, and those that nothing needed."""
    used = {finding.waiver for one in judged for finding in one.findings if finding.waiver}
    remarks = []
    for waiver in policy.waivers:
        about = f"the waiver of {waiver.what} for {waiver.problem}/{waiver.solution} ({waiver.owner}: {waiver.reason})"
        concerned = any(_covers(waiver, one.problem, one.solution) for one in judged)
        if today > waiver.expires:
            remarks.append(f"{about} expired on {waiver.expires} and counts no more")
        elif waiver not in used and concerned:
            remarks.append(f"{about} was not needed; remove it if that stays so")
    return remarks


def _expectation(subject: Judged, snapshot: Snapshot | None) -> list[GateFinding]:
    """Report a changed expectation: to change what is expected is to change what is green."""
    accepted = {entry.verdict for entry in snapshot.of(subject.problem, subject.solution)} if snapshot else set()
    if snapshot is None or not accepted - {subject.expected}:
        return []
    level: Level = "failed" if Verdict.PASSED in accepted and not subject.expected.passed else "remark"
    before = ", ".join(sorted(verdict.value for verdict in accepted - {subject.expected}))
    message = f"{snapshot.source} accepted it as {before}, and solution.yaml now expects {subject.expected.value}"
    next_step = "if that is meant, accept it with 'harness snapshot accept' and commit the snapshot"
    return [
        GateFinding("changed_expectation", level, message, next_step, first_line(subject.problem, subject.solution))
    ]


def _correctness(subject: Judged, evaluations: Sequence[Evaluation], snapshot: Snapshot | None) -> list[GateFinding]:
    if not evaluations:
        return list(missing(subject, "no result came of its evaluation", "run the gate again").findings)
    unexpected = [e for e in evaluations if e.verdict is not subject.expected or e.verdict is Verdict.HARNESS_ERROR]
    if found := _first(unexpected, Verdict.HARNESS_ERROR):
        return [_of_evaluation(found, "harness_error", "broken", f"{found.verdict.value}: {_reason(found)}")]
    if found := _first(unexpected, Verdict.UNSUPPORTED):
        return [_unsupported(found, snapshot)]
    if not unexpected:
        return []
    first, often = unexpected[0], f" in {len(unexpected)} of {len(evaluations)} evaluations"
    where = often if len(evaluations) > 1 else ""
    if first.verdict.passed:
        message = f"passed{where}, where solution.yaml expects {subject.expected.value}"
        next_step = "if it is mended, set expected_verdict: passed; if not, find out why nothing fails any more"
        return [GateFinding("unexpected_pass", "failed", message, next_step, places_of(first))]
    wanted = "" if subject.expected.passed else f" (expected: {subject.expected.value})"
    return [
        _of_evaluation(first, "unexpected_verdict", "failed", f"{first.verdict.value}{where}{wanted}: {_reason(first)}")
    ]


def _first(evaluations: Sequence[Evaluation], verdict: Verdict) -> Evaluation | None:
    return next((evaluation for evaluation in evaluations if evaluation.verdict is verdict), None)


def _unsupported(evaluation: Evaluation, snapshot: Snapshot | None) -> GateFinding:
    """Tolerate it where it needs what this machine lacks, a GPU, another one or a language, unless it was accepted as
    passed on this very device: what could be judged here before isn't excused by a word in its solution.yaml."""
    needs_gpu = evaluation.solution.expected_verdict is Verdict.UNSUPPORTED
    what = "a GPU" if evaluation.environment.backend == "sim" else "what this machine lacks"
    message = f"unsupported: {_reason(evaluation)}"
    if needs_gpu and snapshot and _has_passed_here(evaluation, snapshot):
        message = f"{snapshot.source} accepted it here as passed, and now it needs {what}: {_reason(evaluation)}"
        return replace(_of_evaluation(evaluation, "unsupported", "inconclusive", message), next_step=_ACCEPT_THE_NEED)
    if needs_gpu:
        message = f"not judged, as it needs {what}: {_reason(evaluation)}"
    return _of_evaluation(evaluation, "unsupported", "tolerated" if needs_gpu else "inconclusive", message)


_ACCEPT_THE_NEED = (
    "if that is meant, take its line out by 'harness snapshot accept' of this run and commit the snapshot"
)


def _has_passed_here(evaluation: Evaluation, snapshot: Snapshot) -> bool:
    device = device_of(evaluation.environment)
    entries = snapshot.of(evaluation.problem.name, evaluation.solution.name)
    return any(entry.verdict.passed and entry.device == device for entry in entries)


def _of_evaluation(evaluation: Evaluation, rule: Rule, level: Level, message: str) -> GateFinding:
    failure = evaluation.failure
    assert failure is not None
    return GateFinding(rule, level, message, failure.next_step, places_of(evaluation), failure.details)


def _reason(evaluation: Evaluation) -> str:
    failure = evaluation.failure
    assert failure is not None
    place = [f"check {failure.seen_by}"] if failure.evidence else []
    place += [f"case {failure.case}"] if failure.case else []
    return failure.reason + (f" ({', '.join(place)})" if place else "")


def _measurements(subject: Judged, evaluations: Sequence[Evaluation], terms: Terms) -> list[SpeedAnswers]:
    """Answers on speed, an evaluation each; none where its speed isn't to be judged."""
    demands = terms.policy.demands(subject.problem)
    right = subject.expected.passed and all(e.verdict.passed for e in evaluations)
    if terms.not_judged or demands.correctness_only or not right:
        return []
    pairs = [(e, counterpart(terms.snapshot, e)) for e in evaluations]
    return [speed_answers(e, a if a and not obstacle(a, e) else None, demands) for e, a in pairs]


def _performance(
    subject: Judged, last: Evaluation, measurements: list[SpeedAnswers], against: Accepted | None, terms: Terms
) -> list[GateFinding]:
    demands, place = terms.policy.demands(subject.problem), first_line(subject.problem, subject.solution)
    findings = []
    if terms.snapshot and against is None:
        message = f"new: {terms.snapshot.source} has no time of it to compare with"
        findings.append(GateFinding("no_comparison", "remark", message, _ACCEPT, place))
    elif against and (why := obstacle(against, last)):
        findings.append(GateFinding("no_comparison", "inconclusive", why, _ACCEPT, place))
    changes = [m.change for m in measurements if m.change]
    limit = f"at most {demands.largest_slowdown:.0%} slower is allowed"
    words = "slower than the snapshot"
    places = (against.environment, last.environment) if against else ()
    if several := of_several_gpus(environment.gpu_uuid for environment in places):
        words += f" ({several})"
    findings += _speed_finding("regressed", words, changes, limit, measurements, place)
    leasts = [m.least for m in measurements if m.least]
    least = f"the policy asks for {demands.least_speedup or 0:g}× at least"
    findings += _speed_finding("below_least_speedup", "too slow", leasts, least, measurements, place)
    return findings


_ACCEPT = "where the new speed is right, accept it with 'harness snapshot accept' and commit the snapshot"
_MEND = "make it as fast again, or accept the new speed with 'harness snapshot accept'"
_MEASURE = "measure on a quieter machine, or with more timing.blocks in the config"


def _speed_finding(
    rule: Rule,
    words: str,
    answers: Sequence[Speed],
    limit: str,
    measurements: list[SpeedAnswers],
    places: tuple[Location, ...],
) -> list[GateFinding]:
    conclusion = conclude(answers) if answers else "unchanged"
    times = "once" if len(answers) == 1 else f"{len(answers)} times"
    if conclusion == "regressed":
        return [GateFinding(rule, "failed", f"{words}, measured {times}; {limit}", _MEND, places)]
    if conclusion == "inconclusive":
        why = measurements[-1].why if len({*answers}) == 1 else f"the measurements disagree ({', '.join(answers)})"
        message = f"perhaps {words}, measured {times}: {why}; {limit}"
        return [GateFinding("inconclusive_speed", "inconclusive", message, _MEASURE, places)]
    return []


def _attempt(evaluation: Evaluation, answers: SpeedAnswers) -> GateAttempt:
    return GateAttempt(
        evaluation=evaluation.id,
        run=evaluation.run,
        verdict=evaluation.verdict,
        duration_s=evaluation.duration_s,
        speedup=answers.speedup or evaluation.speedup,
        against_snapshot=answers.against_snapshot,
        speed=answers.change,
    )


def _waived(finding: GateFinding, subject: Judged, terms: Terms) -> GateFinding:
    """The finding at the level that waivers and the policy give it."""
    _, scope = RULES[finding.rule]
    if finding.level not in ("failed", "inconclusive") or scope is None:
        return finding
    for waiver in terms.policy.waivers:
        fits = waiver.what == scope and _covers(waiver, subject.problem, subject.solution)
        if fits and terms.today <= waiver.expires:
            return replace(finding, level="waived", waiver=waiver)
    allowed = terms.policy.unsupported if finding.rule == "unsupported" else terms.policy.inconclusive
    return replace(finding, level="tolerated") if finding.level == "inconclusive" and allowed == "allow" else finding


def _covers(waiver: Waiver, problem: str, solution: str) -> bool:
    return fnmatchcase(problem, waiver.problem) and fnmatchcase(solution, waiver.solution)
