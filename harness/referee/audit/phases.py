"""Whether a solution does in traced turns what it does in timed ones, and in every call its own work."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from harness.sandbox.outcome import SolutionFailed

_LEAST_NS = 20_000
_SHARE = 0.3
"""A traced call may meet a colder clock; tracing itself doesn't change how long a kernel runs (H100: under 2 %)."""
_UNEVEN_NS = 200_000
_UNEVEN = 4.0
"""Calls of one turn differ by under 2 % in what the device does for them, by some 10 µs in what is claimed (H100)."""
_USUAL = 3.0
"""On a busy machine, or a GPU that others use too, every arm has calls that were held up: so many times the baseline's
median spread is no evidence. (Reasoned, not measured.)"""
_DRASTIC = 10.0
"""Factor between traced calls of one turn at which that turn alone is evidence, of four. (Reasoned, not measured.)"""
_DRASTIC_SHARE = 0.25
"""Of more traced turns so many must be like that: one may have been held up."""


def require_same_work(busy_ns: Sequence[int], claimed_ns: float) -> None:
    """`busy_ns`: how long the device worked inside each traced call. `claimed_ns`: the median of the timed calls, which
    can't be shorter than their kernels take. The other way round is honest: the device may wait for the host.

    Raises: SolutionFailed.
    """
    if not busy_ns:
        return
    worked_ns = statistics.median_low(sorted(busy_ns))
    tolerance_ns = max(_LEAST_NS, _SHARE * claimed_ns)
    if worked_ns <= claimed_ns + tolerance_ns:
        return
    raise SolutionFailed.cheating(
        "phases",
        f"a traced call kept the device busy for {worked_ns / 1e3:.0f} µs, but timed calls are claimed to take "
        f"{claimed_ns / 1e3:.0f} µs",
        traced_ns=worked_ns,
        claimed_ns=claimed_ns,
        tolerance_ns=tolerance_ns,
    )


def require_even_work(
    busy_ns: Sequence[Sequence[int]], claimed_ns: Sequence[Sequence[int]], baseline_ns: Sequence[Sequence[int]]
) -> None:
    """The inputs of all calls lie ready when a turn begins: who does the work of all in one call would have a
    flattering median. `busy_ns` of the calls of each traced turn; `claimed_ns` of each timed one, `baseline_ns` of
    each of the baseline's.

    Raises: SolutionFailed.
    """
    held_up_ns = _USUAL * statistics.median([_spread(turn) for turn in _several(baseline_ns)] or [0])
    claimed, traced = _several(claimed_ns), _several(busy_ns)
    uneven = _uneven(claimed, _UNEVEN, held_up_ns)
    if len(uneven) * 2 > len(claimed):
        raise _uneven_work("are claimed to take", uneven, claimed)
    uneven = _uneven(traced, _UNEVEN, held_up_ns)
    if len(traced) > 1 and len(uneven) == len(traced):
        raise _uneven_work("kept the device busy for", uneven, traced)
    drastic = _uneven(traced, _DRASTIC, held_up_ns)
    if drastic and len(drastic) >= _DRASTIC_SHARE * len(traced):
        raise _uneven_work("kept the device busy for", drastic, traced)


def _several(turns: Sequence[Sequence[int]]) -> list[Sequence[int]]:
    return [turn for turn in turns if len(turn) > 1]


def _uneven(turns: Sequence[Sequence[int]], factor: float, held_up_ns: float) -> list[Sequence[int]]:
    return [turn for turn in turns if _spread(turn) > max(_UNEVEN_NS, factor * min(turn), held_up_ns)]


def _spread(turn: Sequence[int]) -> int:
    return max(turn) - min(turn)


def _uneven_work(what: str, uneven: Sequence[Sequence[int]], turns: Sequence[Sequence[int]]) -> SolutionFailed:
    shortest, longest = min(uneven[0]), max(uneven[0])
    return SolutionFailed.cheating(
        "phases",
        f"calls of one turn {what} between {shortest / 1e3:.0f} and {longest / 1e3:.0f} µs, in {len(uneven)} of "
        f"{len(turns)} turns: some did the work of others",
        shortest_ns=shortest,
        longest_ns=longest,
        uneven_turns=len(uneven),
        turns=len(turns),
    )
