"""Repeat a turn with wrong values on the same inputs, to tell nondeterministic kernels from wrong ones."""

from __future__ import annotations

import time
from dataclasses import replace

from harness.model.check import Check, Scope
from harness.model.verdict import Verdict
from harness.referee.buffers.case_turns import CaseTurns, at
from harness.referee.buffers.laid import KeptRow
from harness.referee.buffers.turns import Taken
from harness.referee.judgement import require_passed
from harness.sandbox.outcome import SolutionFailed
from harness.sandbox.wire.device import Conditions

_TIMES = 3
_REPEATING_S = 2.0
"""The time of repeated turns after which none is added: a kernel may take ten seconds a call."""
_UNASKED_CHARS = 200


def judge_call(
    case: CaseTurns, taken: Taken, call: int, scope: Scope, row: KeptRow | None = None
) -> tuple[Check, SolutionFailed | None]:
    """Check one call of a turn, or a `row` of it alone, and return the failure if it fails."""
    check = case.judge_row(taken, row, scope) if row else case.judge(taken, call, scope)
    return check, None if check.passed else _failure(case, taken, call, check)


def _failure(case: CaseTurns, taken: Taken, call: int, check: Check) -> SolutionFailed:
    """The failure of a wrong call: `nondeterministic` where a repetition of the turn, with the same inputs at the same
    addresses, gives right values; the last repetition runs on an idle device.

    The whole turn is repeated, not the call alone: what an earlier call left behind must be there again.
    """
    try:
        with at(check.case, taken.laid.drawn[call]):
            try:
                require_passed(check, case.setting.spec)
            except SolutionFailed as wrong:
                if unasked := taken.answered.calls[call].unasked:
                    raise _failed_unnoticed(unasked, wrong) from None
                if found := _what_repeating_shows(case, taken, call, check):
                    reason = f"{found}; when wrong, {wrong}"
                    raise SolutionFailed(Verdict.NONDETERMINISTIC, reason, wrong.failure.details) from None
                if why := case.what_explains(taken, call, _wrong_row(check)):
                    wrong.failure = replace(wrong.failure, reason=f"{wrong}; {why}")
                raise
    except SolutionFailed as failed:
        return failed
    raise AssertionError("a check that passed has no failure")


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
    spent_s = 0.0
    try:
        for number in range(1, _TIMES + 1):
            started = time.monotonic()
            again = case.again(taken, taken.asked.conditions)
            spent_s += time.monotonic() - started
            checked = case.judge(again, call, "complete")
            if checked.passed:
                return f"the same inputs gave wrong values {_times(number)}, then right ones"
            if _are_elsewhere(check, checked):
                return "the same inputs gave wrong values in other places each time, as when threads race"
            if spent_s > _REPEATING_S:
                break
        if taken.asked.conditions.late_inputs and case.judge(case.again(taken, Conditions()), call, "complete").passed:
            return (
                "right values where the inputs lie ready, and wrong ones where they come late, on the current stream: "
                "work on another stream doesn't wait for it"
            )
    except SolutionFailed:
        pass  # the first failure is reported
    return None


def _are_elsewhere(one: Check, other: Check) -> bool:
    """Say whether elements that are wrong in one are right in the other: the first wrong ones are listed in order. A
    row that was judged alone, whose shape is its own, tells nothing."""
    are_alike = [output.shape for output in one.outputs] == [output.shape for output in other.outputs]
    return are_alike and _first_wrong(one).isdisjoint(_first_wrong(other))


def _first_wrong(check: Check) -> set[tuple[int, ...]]:
    return {(n, *mismatch.index) for n, one in enumerate(check.outputs) for mismatch in one.first_mismatches}


def _wrong_row(check: Check) -> int:
    first = next(output for output in check.outputs if not output.passed).first_mismatches[0].index
    return first[0] if first else 0


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"
