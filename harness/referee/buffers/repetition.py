"""Repeat a turn with wrong values on the same inputs, to tell nondeterministic kernels from wrong ones."""

from __future__ import annotations

import time
from functools import partial

from harness.model.check import Check, Scope
from harness.model.verdict import Verdict
from harness.referee.buffers.case_turns import CaseTurns, stamped
from harness.referee.buffers.laid import KeptRow
from harness.referee.buffers.turns import Taken
from harness.referee.computed_in import what_explains
from harness.referee.judgement import UnfairVariant, failure_of
from harness.sandbox.outcome import SolutionFailed
from harness.sandbox.wire.device import Conditions

_TIMES = 3
_REPEATING_S = 2.0
"""The time of repeated turns after which none is added: a kernel may take ten seconds a call."""
_FAR = 4.0
"""The error, in tolerances, beside which another order of atomic additions is nothing."""
_UNASKED_CHARS = 200
_LATE_US = 500.0
"""The longest tail of 2,000 honest calls was 76 µs (audit.tail)."""
_WAIT = (
    "let the current stream wait for work on another before forward() returns: "
    "torch.cuda.current_stream().wait_stream(other)"
)


def judge_call(
    case: CaseTurns, taken: Taken, call: int, scope: Scope, row: KeptRow | None = None
) -> tuple[Check, SolutionFailed | None]:
    """Check one call of a turn, or a `row` of it alone, and return the failure if it fails."""
    check = case.judge_row(taken, row, scope) if row else case.judge(taken, call, scope)
    wrong = failure_of(check, case.setting.spec)
    return check, wrong and stamped(_told(wrong, case, taken, call, check), check.case, taken.laid.drawn[call])


def _told(wrong: SolutionFailed, case: CaseTurns, taken: Taken, call: int, check: Check) -> SolutionFailed:
    """The failure of a wrong call: `nondeterministic` where a repetition of the turn, with the same inputs at the same
    addresses, gives right values, or all give wrong ones elsewhere. Where inputs came late, one finds them ready.

    The whole turn is repeated, not the call alone: what an earlier call left behind must be there again.
    """
    answered = taken.answered.calls[call]
    if answered.unasked:
        return _failed_unnoticed(answered.unasked, wrong)
    worked_on_us = (answered.tail_ns or 0) / 1e3
    is_late = worked_on_us > _LATE_US
    late = f"the device worked on for {worked_on_us:.0f} µs after the outputs had been copied"
    if found := _what_repeating_shows(case, taken, call, check):
        reason = "; ".join([found, *[late] * is_late, f"when wrong, {wrong}"])
        failed = SolutionFailed(Verdict.NONDETERMINISTIC, reason, wrong.failure.details, _WAIT if is_late else None)
        failed.__cause__ = wrong
        return failed
    if why := case.shown_by(taken, call, partial(what_explains, check=check)):
        return SolutionFailed(wrong.verdict, f"{wrong}; {why}", wrong.failure.details)
    return SolutionFailed(wrong.verdict, f"{wrong}; {late}", wrong.failure.details, _WAIT) if is_late else wrong


def _failed_unnoticed(unasked: str, wrong: SolutionFailed) -> SolutionFailed:
    """Name the CUDA error that the solution left unasked. Honest calls leave such errors, too: it explains wrong values
    and accuses nobody alone."""
    return SolutionFailed(
        Verdict.RUNTIME_ERROR,
        f"CUDA error: {unasked[:_UNASKED_CHARS]}, which the solution didn't ask about, as after a launch that failed; "
        f"{wrong}",
        wrong.failure.details,
    )


def _what_repeating_shows(case: CaseTurns, taken: Taken, call: int, check: Check) -> str | None:
    """Say how the same inputs gave other values than in a wrong call; None where they are wrong in the same way."""
    spent_s, are_elsewhere = 0.0, True
    try:
        for number in range(1, _TIMES + 1):
            started = time.monotonic()
            again = case.again(taken, taken.asked.conditions)
            spent_s += time.monotonic() - started
            checked = case.judge(again, call, "complete")
            if checked.passed:
                return f"the same inputs gave wrong values {_times(number)}, then right ones"
            are_elsewhere &= _is_elsewhere(check, checked)
            if spent_s > _REPEATING_S:
                break
        if taken.asked.conditions.late_inputs and case.judge(case.again(taken, Conditions()), call, "complete").passed:
            return (
                "right values where the inputs lie ready, and wrong ones where they come late, on the current stream: "
                "work on another stream doesn't wait for it"
            )
    except (SolutionFailed, UnfairVariant):
        return None  # the first failure is reported
    return (
        "the same inputs gave wrong values in other places each time, as where threads race" if are_elsewhere else None
    )


def _is_elsewhere(one: Check, other: Check) -> bool:
    """Say whether elements that are far off in one are right in the other: the first wrong ones are listed in order,
    of the same elements by the same tolerance."""
    held_to = [[(output.tolerance, output.compared) for output in check.outputs] for check in (one, other)]
    wrong = [
        {(n, *mismatch.index) for n, output in enumerate(check.outputs) for mismatch in output.first_mismatches}
        for check in (one, other)
    ]
    return held_to[0] == held_to[1] and wrong[0].isdisjoint(wrong[1]) and min(one.worst, other.worst) > _FAR


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"
