"""Audits of the work of calls: as much in traced turns as in timed ones, and in every call its own."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

from harness.model.plural import several
from harness.referee.audit.observed import Observed
from harness.referee.audit.traced_turn import TracedTurn
from harness.sandbox.outcome import SolutionFailed

_LEAST_NS = 20_000
_SHARE = 0.3
"""A traced call may meet a colder clock; tracing itself doesn't change how long a kernel runs (H100: under 2 %)."""
_UNEVEN_NS = 200_000
_UNEVEN = 4.0
"""Calls of one turn differ by under 2 % in what the device does for them, by some 10 µs in what is claimed (H100)."""
_HELD_UP = 0.9
"""The part of a call's excess over its work by which the whole turn exceeds its own where the call took nobody's work:
work that was only moved adds nothing. No other call may then be shorter than this part of its work."""
_SLOWER = 1.05
"""A traced call may be so much slower than others: tracing takes 2 %, and the clock is colder."""
_BY_HOST = 0.75
"""The part of a traced call's time that counts as its work where the device was busy for less: what the host does may
take a third longer while it is traced."""
_USUAL = 3.0
"""A spread of this many times the baseline's median spread is no evidence: on a busy machine, or a shared GPU, every
arm has calls that were held up. (Reasoned, not measured.)"""
_DRASTIC = 10.0
"""The factor between traced calls of one turn at which one turn in four is evidence. (Reasoned, not measured.)"""
_DRASTIC_SHARE = 0.25
"""The share of traced turns that must be so uneven: one of many may have been held up."""


def require_same_work_when_idle(seen: Observed) -> tuple[str, ...]:
    """Traced calls work no longer than is claimed for calls that begin on an idle device. Raises: SolutionFailed."""
    return _require_same_work(seen, seen.solution.idle_claims_ns)


def require_same_work(seen: Observed) -> tuple[str, ...]:
    """Traced calls work no longer than is claimed for timed calls. Raises: SolutionFailed."""
    return _require_same_work(seen, seen.solution.claimed_call_ns)


def _require_same_work(seen: Observed, claims_ns: Sequence[int]) -> tuple[str, ...]:
    """A call can't be shorter than its kernels take. It may be longer: the device may wait for the host."""
    busy_ns = seen.solution.busy_ns
    if not busy_ns or not claims_ns:
        return ()
    worked_ns, claimed_ns = statistics.median_low(busy_ns), statistics.median(claims_ns)
    tolerance_ns = max(_LEAST_NS, _SHARE * claimed_ns)
    if worked_ns <= claimed_ns + tolerance_ns:
        return ()
    raise SolutionFailed.cheating(
        "phases",
        f"a traced call kept the device busy for {worked_ns / 1e3:.0f} µs, but timed calls are claimed to take "
        f"{claimed_ns / 1e3:.0f} µs",
        traced_ns=worked_ns,
        claimed_ns=claimed_ns,
        tolerance_ns=tolerance_ns,
    )


def require_even_work(seen: Observed) -> tuple[str, ...]:
    """The calls of one timed turn take about the same time. The inputs of all calls lie ready when a turn begins: a
    solution that does the work of all in one call would have a flattering median.

    A call that was held up, or captured a graph, took nobody's work: the others of its turn work as long as they
    should, as one that was traced without such a wait shows.

    Raises: SolutionFailed.
    """
    baseline_ns = seen.baseline.claimed_ns
    held_up_ns = _USUAL * statistics.median([_spread(turn) for turn in _several(baseline_ns)] or [0])
    own_ns = _own_work_ns(seen.solution.traced_as_timed)
    claimed = _several(seen.solution.claimed_ns)
    traced = _several([[call.busy_ns for call in turn.calls] for turn in seen.solution.traced_as_timed])

    def uneven(turns: Sequence[Sequence[int]], factor: float) -> list[Sequence[int]]:
        far_apart = [turn for turn in turns if _spread(turn) > max(_UNEVEN_NS, factor * min(turn), held_up_ns)]
        return [turn for turn in far_apart if not _took_nobodys_work(turn, own_ns)]

    if len(found := uneven(claimed, _UNEVEN)) * 2 > len(claimed):
        raise _uneven_work("are claimed to take", found, claimed)
    if len(traced) > 1 and len(found := uneven(traced, _UNEVEN)) == len(traced):
        raise _uneven_work("kept the device busy for", found, traced)
    if (found := uneven(traced, _DRASTIC)) and len(found) >= _DRASTIC_SHARE * len(traced):
        raise _uneven_work("kept the device busy for", found, traced)
    return ()


def _own_work_ns(turns: Sequence[TracedTurn]) -> float:
    """The most that one call's work can be by traced turns, infinite where there are none. No other call does that of
    one which is alone in its turn, and work that is moved leaves the mean as it is: the lesser is no less than a
    call's. Where the device waited for most of a call, the host may have done its work: most of the call's time
    counts."""
    worked = [[max(call.busy_ns, round(_BY_HOST * call.interval_ns)) for call in turn.calls] for turn in turns]
    calls = [ns for turn in worked for ns in turn]
    alone = [turn[0] for turn in worked if len(turn) == 1]
    return min([statistics.fmean(calls), *alone]) / _SLOWER if calls else math.inf


def _took_nobodys_work(turn: Sequence[int], own_ns: float) -> bool:
    excess_ns = sum(turn) - len(turn) * own_ns
    return min(turn) >= _HELD_UP * own_ns and excess_ns >= _HELD_UP * (max(turn) - own_ns)


def _several(turns: Sequence[Sequence[int]]) -> list[Sequence[int]]:
    """The turns of more than one call."""
    return [turn for turn in turns if len(turn) > 1]


def _spread(turn: Sequence[int]) -> int:
    return max(turn) - min(turn)


def _uneven_work(what: str, uneven: Sequence[Sequence[int]], turns: Sequence[Sequence[int]]) -> SolutionFailed:
    shortest, longest = min(uneven[0]), max(uneven[0])
    return SolutionFailed.cheating(
        "phases",
        f"calls of one turn {what} between {shortest / 1e3:.0f} and {longest / 1e3:.0f} µs, in {len(uneven)} of "
        f"{several(len(turns), 'turn')}: some did the work of others",
        shortest_ns=shortest,
        longest_ns=longest,
        uneven_turns=len(uneven),
        turns=len(turns),
    )
