"""Audits of traced turns: none left out, no work outside of calls, no call shorter by its claim than by its marks."""

from __future__ import annotations

from collections.abc import Sequence

from harness.referee.audit.idle_gpu import is_shared
from harness.referee.audit.observed import Observed
from harness.sandbox.outcome import SolutionFailed

_OUTSIDE_LEAST_NS = 20_000
_OUTSIDE_SHARE = 0.02
_CLAIM_LEAST_NS = 50_000
_CLAIM_SHARE = 0.1
"""A call may last longer by this share between its marks than its own events say: they lie a few µs within. (Reasoned,
not measured.)"""


def require_traces(seen: Observed) -> tuple[str, ...]:
    """Require that every traced turn has a trace, where there can be one: the simulator always has one; on a GPU, the
    solution's worker had one before it loaded the solution, or a baseline's turn or another of the solution's has one.

    Raises: SolutionFailed.
    """
    facts, solution = seen.facts, seen.solution
    can_be = not facts.on_gpu or facts.can_trace or seen.baseline.traced_calls or solution.traced_calls
    if can_be and solution.traceless_turns:
        raise SolutionFailed.cheating(
            "trace",
            f"no trace came from {solution.traceless_turns} of the {solution.traced_turns} turns that were traced, "
            "though there can be one here: it was switched off",
            traced_turns=solution.traced_turns,
            turns_without=solution.traceless_turns,
        )
    return ()


def require_nothing_outside(seen: Observed) -> tuple[str, ...]:
    """The device worked for the solution only while a call was timed. Raises: SolutionFailed."""
    for turn in seen.solution.traced:
        per_call_ns = sum(ns for _, ns in turn.outside) / len(turn.calls)
        busy_ns = sum(call.busy_ns for call in turn.calls) / len(turn.calls)
        tolerance_ns = max(_OUTSIDE_LEAST_NS, _OUTSIDE_SHARE * busy_ns)
        if per_call_ns > tolerance_ns:
            names = ", ".join(dict.fromkeys(row.name[:80] for row, _ in turn.outside[:3]))
            raise SolutionFailed.cheating(
                "trace",
                f"the device worked {per_call_ns / 1e3:.0f} µs per call for the solution outside of what is timed: "
                f"{names}",
                outside_ns_per_call=per_call_ns,
                inside_ns_per_call=busy_ns,
                tolerance_ns=tolerance_ns,
            )
    return ()


def require_measured(seen: Observed) -> tuple[str, ...]:
    """Traced calls took no longer by their trace than is claimed for them.

    An event recorded anew in the middle of a call shortens the claim, but not the time between the marks. Most calls
    must agree, since the host may be held up between mark and event. Where most of the baseline's calls disagree, too,
    or the GPU is known to be shared, other processes have it meanwhile, in slices of about 2 ms: that is a remark.

    Raises: SolutionFailed.
    """
    timed, of_baseline = seen.solution.traced_claims, seen.baseline.traced_claims
    shortened, held_up = _shortened(timed), _shortened(of_baseline)
    if len(shortened) * 2 <= len(timed):
        return ()
    if is_shared(seen.baseline.canaries_ns) or len(held_up) * 2 > len(of_baseline):
        return (
            f"{len(shortened)} of {len(timed)} traced calls lasted longer by their trace than is claimed, and "
            f"{len(held_up)} of {len(of_baseline)} of the baseline's, as they do while the GPU is shared with another "
            "process: the times may be off",
        )
    lasted_ns, claimed_ns = shortened[0]
    raise SolutionFailed.cheating(
        "trace",
        f"{claimed_ns / 1e3:.0f} µs are claimed for a traced call that lasted {lasted_ns / 1e3:.0f} µs by its trace, "
        f"in {len(shortened)} of {len(timed)} calls: the clock was started late or stopped early",
        claimed_ns=claimed_ns,
        traced_ns=lasted_ns,
        tolerance_ns=_claim_slack_ns(lasted_ns),
    )


def _shortened(timed: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The calls that lasted longer than is claimed, beyond the slack."""
    return [(lasted, claimed) for lasted, claimed in timed if lasted - claimed > _claim_slack_ns(lasted)]


def _claim_slack_ns(lasted_ns: int) -> float:
    return max(_CLAIM_LEAST_NS, _CLAIM_SHARE * lasted_ns)
