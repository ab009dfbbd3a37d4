"""Whether the device goes on working after a call's outputs have been copied."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from harness.sandbox.outcome import SolutionFailed

_LEAST_NS = 50_000
"""On an H100 the median tail of 20 honest solutions was at most 10 µs, the longest of 2,000 calls 76; a worker's thread
may be held up now and then, which the median forgives."""
_SHARE = 0.02


def require_tails(calls: int, without: int) -> None:
    """`without`: of the solution's calls on a GPU, those that tell none. Raises: SolutionFailed: the meter always tells
    one."""
    if without:
        raise SolutionFailed.cheating(
            "tail",
            f"of {without} of {calls} calls it wasn't told how long the device went on working after their outputs "
            "had been copied",
            calls=calls,
            calls_without=without,
        )


def require_quiet_end(solution_ns: Sequence[int], baseline_ns: Sequence[int], call_ns: float) -> None:
    """`call_ns` is the median of the claimed times. Raises: SolutionFailed."""
    if not solution_ns:
        return
    tail_ns = statistics.median(solution_ns)
    usual_ns = statistics.median(baseline_ns) if baseline_ns else 0
    tolerance_ns = max(_LEAST_NS, _SHARE * call_ns)
    if tail_ns <= usual_ns + tolerance_ns:
        return
    raise SolutionFailed.cheating(
        "tail",
        f"the device was still busy for {tail_ns / 1e3:.0f} µs (median) after a call's outputs had been copied; after "
        f"the baseline's {usual_ns / 1e3:.0f} µs",
        tail_ns=tail_ns,
        baseline_tail_ns=usual_ns,
        tolerance_ns=tolerance_ns,
    )
