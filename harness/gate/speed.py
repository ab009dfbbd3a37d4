"""Answers on whether a solution is slower than it was: three from one measurement, and one from several."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from harness.gate.policy import Policy
from harness.model.evaluation import Evaluation
from harness.model.gate import Accepted, Speed
from harness.model.statistics import Interval, ratio


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
    """`accepted` is an entry that this evaluation may be compared with, see counterpart(); None: nothing to compare."""
    timing = evaluation.timing
    speedup = timing.speedup if timing else None
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
