"""Measuring: arms take turns in balanced order, the referee keeps the clock that bounds their claims.

One block goes through the arms in an order drawn for it and back again: A B B A for two, C A B B A C for three. So slow
drift falls on all alike: a 4 % clock step puts 2.7 % error on the ratio of A-then-B, 0.05 % on that of A B B A.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from statistics import median
from typing import Protocol

from harness.model.arms import ArmName, Metric
from harness.model.config import TimingConfig
from harness.model.statistics import LEAST_BLOCKS
from harness.model.timing import Row, TimerOverhead, Timing, Turn
from harness.referee.buffers.slots import drawn_lengths
from harness.referee.timing.references import references_of
from harness.referee.timing.series import Series

_TURN_NS = 30_000_000
"""A turn of slow calls is cut to about this length, so that blocks stay short against drift and runs short: ten
milliseconds scatter little, and more calls of as much cost time alone."""
_LONG_TURN_NS = 250_000_000
"""Two calls may take so long: turns of one call alone say nothing of what a call costs besides."""
_LOOKS_APART = 1.5
"""Simulated, an interval that is looked at after each block ends where it is narrow by chance: of 95 % it keeps 92 to
93. Looked at when half as many blocks again are there it keeps 94.5 or more, for a fifth more blocks on average
(benchmarks/stopping.py); so does one that must be as narrow at 98 %, for as many. Factors below it keep less."""
_MOST_WARM_UPS = 12
_SETTLED = 0.01
"""The share by which the medians of an arm's last two turns may differ: what is still warming up falls by more."""


class Arms(Protocol):
    """The arms that take turns: workers in earnest, a script in tests."""

    @property
    def metric(self) -> Metric:
        """The metric of turns that don't name another."""

    @property
    def kernels(self) -> dict[ArmName, int]:
        """The number of kernels that a call launches, for arms of which that is known by now."""

    def turn(self, arm: ArmName, calls: int, metric: Metric | None = None) -> Turn:
        """Take one turn, of no block yet."""

    def is_late(self, turn: Turn) -> bool:
        """Say whether a turn that warms up says little of later ones: most launches came too late for the hold."""

    def warmed_up(self) -> None:
        """Make turns from now on samples, all of one metric."""


Progress = Callable[[int, int], None]


def measure(
    arms: Arms,
    config: TimingConfig,
    rng: random.Random,
    most_calls: int,
    series: Series,
    progress: Progress = lambda done, total: None,
    floors: TimerOverhead | None = None,
) -> Timing:
    """Warm all arms up, then measure blocks until that is enough for the `series`, there are as many as the config
    allows or its share of the budget is spent (never under six).

    The series is asked at looks() alone.

    The arms are the config's baselines, the control and the solution. All turns of a block have the same length, at
    most `most_calls`. Below the clock's `floors` no ratio is claimed, and no more blocks are measured for one.
    """
    names: tuple[ArmName, ...] = (*references_of(config), "solution")
    warm = {arm: warm_up(arms, arm, config, most_calls) for arm in rng.sample(names, len(names))}
    series.remarks += [
        f"{config.case}: two calls of {arm} still differed by more than {_SETTLED:.0%} from the two before after "
        f"{_MOST_WARM_UPS} turns that warm up"
        for arm in names
        if not warm[arm][1]
    ]
    calls = turn_length([fastest_ns for fastest_ns, _ in warm.values()], most_calls)
    if calls > 1:
        for arm in names:
            arms.turn(arm, calls)
    arms.warmed_up()
    lengths = drawn_lengths(calls, rng)
    turns: list[Turn] = []

    def taken_so_far() -> Timing:
        return Timing(config.case, tuple(turns), config.baselines, arms.metric, floors, kernels=arms.kernels)

    with series.blocks():
        look_at = looks(config.blocks)
        for block in range(config.blocks):
            if block >= LEAST_BLOCKS and series.is_share_spent:
                break
            turns += take_block(arms, names, block, next(lengths), rng)
            progress(block + 1, config.blocks)
            if block + 1 in look_at and series.is_enough(taken_so_far()):
                break
    return taken_so_far()


def looks(most_blocks: int) -> tuple[int, ...]:
    """Return the numbers of blocks after which it is asked whether they are enough: 6, 9, 14, 21, 32, 48, 72, 108 …"""
    found = [LEAST_BLOCKS]
    while found[-1] < most_blocks:
        found.append(math.ceil(_LOOKS_APART * found[-1]))
    return tuple(found)


def measure_row(arms: Arms, metric: Metric, config: TimingConfig, rng: random.Random, most_calls: int) -> Row:
    """A further metric: each arm once to warm up, then the fewest blocks that give an interval, of turns half as long
    as the headline's, since some make each call twice. The control has told what it can."""
    names: tuple[ArmName, ...] = (*config.baselines, "solution")
    fastest = [min(arms.turn(arm, 1, metric).call_ns) for arm in names]
    lengths = drawn_lengths(max(1, min(most_calls, _TURN_NS // (2 * max(fastest)))), rng)
    blocks = [take_block(arms, names, block, next(lengths), rng, metric) for block in range(LEAST_BLOCKS)]
    return Row(metric, tuple(turn for block in blocks for turn in block))


def take_block(
    arms: Arms, names: Sequence[ArmName], block: int, calls: int, rng: random.Random, metric: Metric | None = None
) -> list[Turn]:
    return [replace(arms.turn(arm, calls, metric), block=block) for arm in _there_and_back(names, rng)]


def warm_up(arms: Arms, arm: ArmName, config: TimingConfig, most_calls: int) -> tuple[int, bool]:
    """Take short turns until their times settle, or there were many: of two calls, or of one where two take long.
    Returns the fastest call, in ns, and whether they have settled."""
    most = min(2, most_calls)
    medians: list[float] = []
    seen: list[int] = []
    while len(medians) < _MOST_WARM_UPS:
        turn = arms.turn(arm, turn_length([min(seen)], most) if seen else most)
        seen += turn.call_ns
        medians.append(median(turn.call_ns))
        if len(medians) >= config.warmup_turns and not arms.is_late(turn) and _have_settled(medians):
            return min(seen), True
    return min(seen), False


def _have_settled(medians: Sequence[float]) -> bool:
    return len(medians) < 2 or abs(medians[-1] - medians[-2]) <= _SETTLED * medians[-2]


def turn_length(fastest_ns: Sequence[int], most_calls: int) -> int:
    """Return how many calls a turn can have, for the slowest of these arms."""
    slowest_ns = max(fastest_ns)
    return max(1, min(most_calls, max(_TURN_NS // slowest_ns, min(2, _LONG_TURN_NS // slowest_ns))))


def _there_and_back(names: Sequence[ArmName], rng: random.Random) -> Iterator[ArmName]:
    order = rng.sample(names, len(names))
    yield from order
    yield from reversed(order)
