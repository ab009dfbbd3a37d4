"""Checks of a worker's reply as it comes: it must not contradict itself or the referee's clock."""

from __future__ import annotations

from collections.abc import Sequence

from harness.sandbox.outcome import SolutionFailed


def require_plausible(claimed_ns: Sequence[int | None], calls: int, wall_ns: int) -> tuple[int, ...]:
    """Return the times of the calls: each took some time, and all together no more than the referee waited.

    Raises: SolutionFailed.
    """
    known = tuple(ns for ns in claimed_ns if ns is not None)
    if len(known) != calls or len(claimed_ns) != calls:
        observed = f"{len(known)} times were reported for {calls} timed calls"
        raise SolutionFailed.cheating("claimed_times", observed, calls=calls, times=len(known))
    if min(known) <= 0:
        observed = f"a call of {min(known)} ns was reported"
        raise SolutionFailed.cheating("claimed_times", observed, claimed_ns=min(known), wall_ns=wall_ns)
    if sum(known) > wall_ns:
        raise SolutionFailed.cheating(
            "claimed_times",
            f"{calls} calls are claimed to have taken {sum(known)} ns, but the referee waited {wall_ns} ns",
            claimed_ns=sum(known),
            wall_ns=wall_ns,
        )
    return known


def require_originals(patched: Sequence[str]) -> None:
    """Require that none of the functions that measure or judge was replaced in the worker's process.

    A worker has no reason to make up that it found its clocks replaced; that it found none proves nothing.

    Raises: SolutionFailed.
    """
    if not patched:
        return
    named = ", ".join(name[:100] for name in patched[:5])
    more = f" and {len(patched) - 5} more" if len(patched) > 5 else ""
    raise SolutionFailed.cheating(
        "patched_functions",
        f"what measures or judges was replaced in the worker's process: {named}{more}",
        functions=len(patched),
    )
