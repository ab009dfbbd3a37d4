"""Whether a solution does in traced turns what it does in timed ones, and in every call its own work."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from harness.referee.outcome import SolutionFailed

_LEAST_NS = 20_000
_SHARE = 0.3
"""A traced call may meet a colder clock; tracing itself doesn't change how long a kernel runs (H100: under 2 %)."""
_UNEVEN_NS = 200_000
_UNEVEN = 4.0
"""Calls of one turn differ by under 2 % in what the device does for them, by some 10 µs in what is claimed."""


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


def require_even_work(busy_ns: Sequence[Sequence[int]], claimed_ns: Sequence[Sequence[int]]) -> None:
    """The inputs of all calls lie ready when a turn begins: who does the work of all in one call would have a
    flattering median. `busy_ns` of the calls of each traced turn, `claimed_ns` of each timed one.

    Raises: SolutionFailed.
    """
    for what, turns in (("kept the device busy for", busy_ns), ("are claimed to take", claimed_ns)):
        several = [turn for turn in turns if len(turn) > 1]
        uneven = [turn for turn in several if max(turn) - min(turn) > max(_UNEVEN_NS, _UNEVEN * min(turn))]
        if len(uneven) * 2 <= len(several):
            continue
        shortest, longest = min(uneven[0]), max(uneven[0])
        raise SolutionFailed.cheating(
            "phases",
            f"calls of one turn {what} between {shortest / 1e3:.0f} and {longest / 1e3:.0f} µs, in {len(uneven)} of "
            f"{len(several)} turns: some did the work of others",
            shortest_ns=shortest,
            longest_ns=longest,
            uneven_turns=len(uneven),
            turns=len(several),
        )
