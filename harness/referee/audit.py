"""Weighing what a worker claims against what the referee saw for itself."""

from __future__ import annotations

from harness.referee.outcome import SolutionFailed
from harness.referee.timing import ArmTurn


def require_plausible(turn: ArmTurn, calls: int) -> None:
    """A worker can't have spent more time in its calls than the referee waited for all of them, nor none.

    Raises: SolutionFailed.
    """
    if len(turn.call_ns) != calls:
        raise SolutionFailed.cheating("claimed_times", f"{len(turn.call_ns)} times were reported for {calls} calls")
    if min(turn.call_ns) <= 0:
        raise SolutionFailed.cheating("claimed_times", f"a call of {min(turn.call_ns)} ns was reported")
    if sum(turn.call_ns) > turn.wall_ns:
        raise SolutionFailed.cheating(
            "claimed_times",
            f"{calls} calls are claimed to have taken {sum(turn.call_ns)} ns, but the referee waited {turn.wall_ns} ns",
            claimed_ns=sum(turn.call_ns),
            wall_ns=turn.wall_ns,
        )
