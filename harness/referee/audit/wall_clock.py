"""Audit of the wall clock: what a call costs beyond the time that is claimed for it.

A turn's wall time is a constant plus, for each call, the claimed time and the worker's own part: poisoning, the cache
flush, the copies of the outputs, a little Python. That part is the same for every arm, since all return the same
outputs; so what a solution's calls cost beyond the baseline's is work that its claims leave out.

The cost of a call is measured in two ways. Slopes over turns of different length show what grows with the calls. The
longest turns show work at a turn's beginning that takes as long for one call as for all: the inputs of all calls lie
ready then, so that a solution can compute the answers for every slot before it reads how many calls there are.
"""

from __future__ import annotations

import dataclasses
import itertools
import statistics
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from harness.referee.audit.observed import ArmTurns, Observed, WallTurn
from harness.sandbox.outcome import SolutionFailed

_LEAST_NS = 250_000
"""The resolution: less hidden work per call isn't seen here. Between honest arms the difference was at most 145 µs (in
turns of 1 and 2 calls, uncertain by 800), at most 97 otherwise: 20 solutions against eager on an H100, some of which
synchronise, fork streams, start threads, replay graphs or work long on the host."""
_CONSTANT_NS = 1_000_000
"""The allowed difference between the constants of two arms' turns, where turns of one length are compared. Between
honest arms turns of 5 calls differed by 270 µs at most, turns of one by 190 (H100); but by 1,550 where one had loaded
torch.compile, whose memory drives everything else out of the processor's caches: there the tolerated work per call
adds what this lacks."""
_SHARE = 0.03
"""The tolerated share of a call's wall time: copies and flushes of gigabytes vary with the memory's last use."""
_DEVIATIONS = 4.0
_OWN_NOISE = 3.0
"""The solution's turns may be this many times as uncertain as the baseline's, and ..."""
_OWN_NOISE_SHARE = 0.25
"""... by this share of what a call is known to cost besides: else random pauses would excuse hidden work of any length.
(Reasoned, not measured.)"""
_BOUNDS_NOTHING = 0.25
"""The record has a remark where both differences are uncertain by more than this share of a call's wall time."""
_LEAST_TURNS = 3
"""The fewest turns of a length with which it counts."""


_Lengths = Mapping[int, Sequence[int]]
"""Number of calls → the unexplained times of turns with so many."""


@dataclass(frozen=True)
class HiddenTime:
    """The time of a solution's call that no claim explains, beyond the baseline's `usual_ns`.

    It may be off by the noise of the solution's turns (`own_noise_ns`), and by that of the baseline's together with the
    difference of the turns' constants (`usual_noise_ns`). `known_ns` is the part of `usual_ns` that is certainly the
    call's own and not the turn's.
    """

    per_call_ns: float
    usual_ns: float
    own_noise_ns: float
    usual_noise_ns: float
    known_ns: float = 0.0

    @property
    def uncertain_ns(self) -> float:
        return self.own_noise_ns + self.usual_noise_ns

    def tolerated_ns(self, claimed_ns: float) -> float:
        """uncertain_ns, with the solution's own noise limited."""
        most_ns = _OWN_NOISE * self.usual_noise_ns + _OWN_NOISE_SHARE * (claimed_ns + max(0.0, self.known_ns))
        return min(self.own_noise_ns, most_ns) + self.usual_noise_ns


def hidden_times(solution: Sequence[WallTurn], baseline: Sequence[WallTurn]) -> list[HiddenTime]:
    """Measure by slopes, where both arms have turns of several lengths, and by the longest turns that both have."""
    ours, theirs = _by_length(solution), _by_length(baseline)
    common = sorted(ours.keys() & theirs.keys())
    in_longest = [_in_turns_of(calls, ours, theirs) for calls in common[-1:]]
    if len(ours) < 2 or len(theirs) < 2:
        return in_longest
    by_slopes = _by_slopes(ours, theirs)
    return [by_slopes, *(dataclasses.replace(one, known_ns=by_slopes.known_ns) for one in in_longest)]


def _by_slopes(ours: _Lengths, theirs: _Lengths) -> HiddenTime:
    (our_slope, our_deviation), (their_slope, their_deviation) = _slope_of(ours), _slope_of(theirs)
    our_noise_ns, their_noise_ns = _DEVIATIONS * our_deviation, _DEVIATIONS * their_deviation
    return HiddenTime(our_slope - their_slope, their_slope, our_noise_ns, their_noise_ns, known_ns=their_slope)


def _in_turns_of(calls: int, ours: _Lengths, theirs: _Lengths) -> HiddenTime:
    usual_ns = statistics.median(theirs[calls]) / calls
    excess_ns = statistics.median(ours[calls]) / calls - usual_ns
    our_noise_ns, their_noise_ns = (_DEVIATIONS * _deviation(arm[calls]) / calls for arm in (ours, theirs))
    return HiddenTime(excess_ns, usual_ns, our_noise_ns, _CONSTANT_NS / calls + their_noise_ns)


def _slope_of(by_length: Mapping[int, Sequence[int]]) -> tuple[float, float]:
    """Unexplained time per call and its deviation: the median of the slopes between turns of different length (Theil
    and Sen), which a few turns that were held up don't move."""
    slopes = [
        (second - first) / (more - fewer)
        for (fewer, low), (more, high) in itertools.combinations(sorted(by_length.items()), 2)
        for first, second in itertools.product(low, high)
    ]
    turns = sum(map(len, by_length.values()))
    return statistics.median(slopes), _deviation(slopes) * (len(slopes) / turns) ** 0.5


def require_explained(seen: Observed) -> tuple[str, ...]:
    """The referee's clock shows no work that the claims leave out. Remarks where it can't show much.

    Raises: SolutionFailed.
    """
    solution = seen.solution.walls
    found = hidden_times(solution, seen.baseline.walls)
    if not found:
        return ()
    allowance_ns = _allowance_ns(seen.solution, seen.baseline)
    call_ns = statistics.median(turn.wall_ns / turn.calls for turn in solution)
    claimed_ns = statistics.median(turn.claimed_ns / turn.calls for turn in solution)
    for hidden in found:
        tolerance_ns = max(_LEAST_NS, _SHARE * call_ns) + hidden.tolerated_ns(claimed_ns)
        if hidden.per_call_ns > tolerance_ns + allowance_ns:
            raise _unexplained(hidden, claimed_ns, tolerance_ns, allowance_ns)
    return _remarks(min(hidden.uncertain_ns for hidden in found), call_ns)


def _allowance_ns(solution: ArmTurns, baseline: ArmTurns) -> float:
    """Return how much longer storing outputs of an unusual layout takes, by the device's own kernels in the traces."""
    ours, theirs = (
        statistics.median([turn.strided_ns for turn in arm.traced]) if arm.traced else 0.0
        for arm in (solution, baseline)
    )
    return max(0.0, 1.1 * ours - theirs)


def _unexplained(hidden: HiddenTime, claimed_ns: float, tolerance_ns: float, allowance_ns: float) -> SolutionFailed:
    return SolutionFailed.cheating(
        "wall_clock",
        f"each call takes {hidden.per_call_ns / 1e3:.0f} µs of the referee's clock beyond the {claimed_ns / 1e3:.0f} "
        f"µs that are claimed and what a call costs besides ({hidden.usual_ns / 1e3:.0f} µs, from the baseline); "
        f"{tolerance_ns / 1e3:.0f} µs would be let pass",
        hidden_ns_per_call=hidden.per_call_ns,
        claimed_ns_per_call=claimed_ns,
        besides_ns_per_call=hidden.usual_ns,
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
        found[turn.calls].append(turn.wall_ns - turn.claimed_ns)
    return {calls: unexplained for calls, unexplained in found.items() if len(unexplained) >= _LEAST_TURNS}


def _deviation(values: Sequence[float]) -> float:
    """The standard deviation of the values' median, estimated from the median distance to it."""
    middle = statistics.median(values)
    spread = statistics.median([abs(value - middle) for value in values])
    return float(1.4826 * spread / len(values) ** 0.5)
