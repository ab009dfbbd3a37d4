"""What a call costs beyond the time that is claimed for it, by the referee's clock over turns of different length.

A turn's wall time is a constant plus, for each call, the claimed time and the worker's own part: poisoning, the cache
flush, the copies of the outputs, a little Python. That part is the same for every arm, since all return the same
outputs; so what a solution's calls cost beyond the baseline's is work that its claims leave out.

Twice it is asked what a call costs: by slopes, which see what grows with the calls, and in the longest turns, in which
work at a turn's beginning shows that takes as long for one call as for all. Every call has inputs of its own, but they
all lie ready when a turn begins: who computes the answers for every place at the table, used or not, is done with the
work of all calls before he has read how many there are.
"""

from __future__ import annotations

import dataclasses
import itertools
import statistics
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from harness.sandbox.outcome import SolutionFailed

_LEAST_NS = 250_000
"""Between honest arms the difference was at most 145 µs (there with turns of 1 and 2 calls alone, uncertain by 800), at
most 97 otherwise: 20 solutions, among them some that synchronise, fork streams, start threads, replay graphs or work on
the host for long, against eager (H100). It is the resolution: less hidden work than this per call isn't seen here."""
_CONSTANT_NS = 400_000
"""By which the constants of two arms' turns may differ, where turns of one length are compared. Between honest arms
turns of 5 calls differed by 270 µs at most, of one by 190 (H100)."""
_SHARE = 0.03
"""Of a call's wall time: copies and flushes of gigabytes vary so much with what the memory was just used for."""
_DEVIATIONS = 4.0
_OWN_NOISE = 3.0
"""The solution's turns may be so many times as uncertain as the baseline's, and ..."""
_OWN_NOISE_SHARE = 0.25
"""... by so much of what a call is known to cost: else pauses at random would excuse hidden work of any length.
(Reasoned, not measured.)"""
_BOUNDS_NOTHING = 0.25
"""Of a call's wall time: where the difference is more uncertain than that, both ways, the record says so."""
_LEAST_TURNS = 3
"""Of a length, for it to count."""


_Lengths = Mapping[int, Sequence[int]]
"""Number of calls → the unexplained times of turns with so many."""


@dataclass(frozen=True)
class WallTurn:
    """One turn: how many calls, what they are claimed to have taken together, what the referee waited."""

    calls: int
    claimed_ns: int
    wall_ns: int

    @property
    def unexplained_ns(self) -> int:
        return self.wall_ns - self.claimed_ns


@dataclass(frozen=True)
class Excess:
    """What a call of the solution costs besides, beyond the baseline's `usual_ns`. How far that may be off, by the
    noise of the solution's turns, and by that of the baseline's with the turns' constants. `known_ns`: what of
    `usual_ns` is a call's own for certain, and no part of a turn's constant."""

    per_call_ns: float
    usual_ns: float
    own_noise_ns: float
    usual_noise_ns: float
    known_ns: float = 0.0

    @property
    def uncertain_ns(self) -> float:
        return self.own_noise_ns + self.usual_noise_ns

    def tolerated_ns(self, claimed_ns: float) -> float:
        """As uncertain_ns, but of its own noise a solution may bring in only so much."""
        most_ns = _OWN_NOISE * self.usual_noise_ns + _OWN_NOISE_SHARE * (claimed_ns + max(0.0, self.known_ns))
        return min(self.own_noise_ns, most_ns) + self.usual_noise_ns


def excesses_of(solution: Sequence[WallTurn], baseline: Sequence[WallTurn]) -> list[Excess]:
    """By the slopes where both arms have turns of several lengths, and by the longest turns that both have."""
    ours, theirs = _by_length(solution), _by_length(baseline)
    common = sorted(ours.keys() & theirs.keys())
    in_longest = [_in_turns_of(calls, ours, theirs) for calls in common[-1:]]
    if len(ours) < 2 or len(theirs) < 2:
        return in_longest
    by_slopes = _by_slopes(ours, theirs)
    return [by_slopes, *(dataclasses.replace(excess, known_ns=by_slopes.known_ns) for excess in in_longest)]


def _by_slopes(ours: _Lengths, theirs: _Lengths) -> Excess:
    (our_slope, our_deviation), (their_slope, their_deviation) = slope_of(ours), slope_of(theirs)
    our_noise_ns, their_noise_ns = _DEVIATIONS * our_deviation, _DEVIATIONS * their_deviation
    return Excess(our_slope - their_slope, their_slope, our_noise_ns, their_noise_ns, known_ns=their_slope)


def _in_turns_of(calls: int, ours: _Lengths, theirs: _Lengths) -> Excess:
    usual_ns = statistics.median(theirs[calls]) / calls
    excess_ns = statistics.median(ours[calls]) / calls - usual_ns
    our_noise_ns, their_noise_ns = (_DEVIATIONS * _deviation(arm[calls]) / calls for arm in (ours, theirs))
    return Excess(excess_ns, usual_ns, our_noise_ns, _CONSTANT_NS / calls + their_noise_ns)


def slope_of(by_length: Mapping[int, Sequence[int]]) -> tuple[float, float]:
    """Unexplained time per call, and its deviation: the median of the slopes between turns of different length (Theil
    and Sen), which a turn that was held up now and then doesn't move."""
    slopes = [
        (second - first) / (more - fewer)
        for (fewer, low), (more, high) in itertools.combinations(sorted(by_length.items()), 2)
        for first, second in itertools.product(low, high)
    ]
    turns = sum(map(len, by_length.values()))
    return statistics.median(slopes), _deviation(slopes) * (len(slopes) / turns) ** 0.5


def require_explained(
    solution: Sequence[WallTurn], baseline: Sequence[WallTurn], allowance_ns: float
) -> tuple[str, ...]:
    """`allowance_ns`: what a call of the solution may cost more for a reason that was seen. Remarks.

    Raises: SolutionFailed.
    """
    excesses = excesses_of(solution, baseline)
    if not excesses:
        return ()
    call_ns = statistics.median(turn.wall_ns / turn.calls for turn in solution)
    claimed_ns = statistics.median(turn.claimed_ns / turn.calls for turn in solution)
    for excess in excesses:
        tolerance_ns = max(_LEAST_NS, _SHARE * call_ns) + excess.tolerated_ns(claimed_ns)
        if excess.per_call_ns > tolerance_ns + allowance_ns:
            raise _unexplained(excess, claimed_ns, tolerance_ns, allowance_ns)
    return _remarks(min(excess.uncertain_ns for excess in excesses), call_ns)


def _unexplained(excess: Excess, claimed_ns: float, tolerance_ns: float, allowance_ns: float) -> SolutionFailed:
    return SolutionFailed.cheating(
        "wall_clock",
        f"each call takes {excess.per_call_ns / 1e3:.0f} µs of the referee's clock beyond the {claimed_ns / 1e3:.0f} "
        f"µs that are claimed and what a call costs besides ({excess.usual_ns / 1e3:.0f} µs, from the baseline); "
        f"{tolerance_ns / 1e3:.0f} µs would be let pass",
        hidden_ns_per_call=excess.per_call_ns,
        claimed_ns_per_call=claimed_ns,
        besides_ns_per_call=excess.usual_ns,
        tolerance_ns=tolerance_ns,
        allowance_ns=allowance_ns,
    )


def _remarks(uncertain_ns: float, call_ns: float) -> tuple[str, ...]:
    if uncertain_ns <= _BOUNDS_NOTHING * call_ns:
        return ()
    return (
        f"the wall clock can't bound what is claimed: turns vary so much that a call's cost is uncertain by "
        f"{uncertain_ns / 1e3:.0f} µs, of {call_ns / 1e3:.0f} that a call takes by it",
    )


def _by_length(turns: Sequence[WallTurn]) -> dict[int, list[int]]:
    found: dict[int, list[int]] = defaultdict(list)
    for turn in turns:
        found[turn.calls].append(turn.unexplained_ns)
    return {calls: unexplained for calls, unexplained in found.items() if len(unexplained) >= _LEAST_TURNS}


def _deviation(values: Sequence[float]) -> float:
    """Of the values' median, from the median distance to it."""
    middle = statistics.median(values)
    spread = statistics.median([abs(value - middle) for value in values])
    return float(1.4826 * spread / len(values) ** 0.5)
