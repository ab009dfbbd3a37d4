"""Audits of tails: whether the device works on after a call's outputs have been copied."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from harness.referee.audit.observed import Observed
from harness.sandbox.outcome import SolutionFailed

_LEAST_NS = 50_000
"""The excess over the baseline's tail that always passes. On an H100 the median tail of 20 honest solutions was at most
10 µs, the longest of 2,000 calls 76; a worker's thread may be held up now and then, which the median forgives."""
_SHARE = 0.02


def require_tails(seen: Observed) -> tuple[str, ...]:
    """Require that every call on a GPU has a tail: the worker's meter always reports one. Raises: SolutionFailed."""
    calls, without = seen.solution.calls, seen.solution.tailless_calls
    if seen.facts.on_gpu and without:
        raise SolutionFailed.cheating(
            "tail",
            f"of {without} of {calls} calls it wasn't reported how long the device went on working after their outputs "
            "had been copied",
            calls=calls,
            calls_without=without,
        )
    return ()


def require_quiet_end_when_idle(seen: Observed) -> tuple[str, ...]:
    """Require that calls which begin on an idle device end quietly, too. Raises: SolutionFailed."""
    return _require_quiet_end(seen, seen.solution.idle_tails_ns, seen.solution.idle_claims_ns)


def require_quiet_end(seen: Observed) -> tuple[str, ...]:
    """Require that most timed calls end quietly. Raises: SolutionFailed."""
    return _require_quiet_end(seen, seen.solution.tails_ns, seen.solution.claimed_call_ns)


def _require_quiet_end(seen: Observed, tails_ns: Sequence[int], claims_ns: Sequence[int]) -> tuple[str, ...]:
    """Require a short median tail of calls for which these times are claimed. Raises: SolutionFailed."""
    if not tails_ns or not claims_ns:
        return ()
    tail_ns = statistics.median(tails_ns)
    usual_ns = statistics.median(seen.baseline.tails_ns) if seen.baseline.tails_ns else 0
    tolerance_ns = max(_LEAST_NS, _SHARE * statistics.median(claims_ns))
    if tail_ns <= usual_ns + tolerance_ns:
        return ()
    raise SolutionFailed.cheating(
        "tail",
        f"the device was still busy for {tail_ns / 1e3:.0f} µs (median) after a call's outputs had been copied; after "
        f"the baseline's {usual_ns / 1e3:.0f} µs",
        tail_ns=tail_ns,
        baseline_tail_ns=usual_ns,
        tolerance_ns=tolerance_ns,
    )
