"""Where an interval is wider than was asked for, the reason that is told is the one that ended the measurement."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from harness.model.config import TimingConfig
from harness.model.timing import TimerOverhead, Timing, Turn, missed_precision
from tests.examples import measured
from tests.wording import tells

PUBLISH = TimingConfig(blocks=100, precision=0.0025, processes=3, budget_s=300.0)


def three(*speedups: float, blocks: int = 12, scatter: float = 0.0, solution_ns: int = 10_000_000) -> Timing:
    """Three processes with a speed-up each."""
    turns = []
    for block in range(3 * blocks):
        eager_ns = solution_ns * speedups[block // blocks] * (1 + (scatter if block % 2 else -scatter))
        turns += [
            Turn("eager", block, (round(eager_ns),), 10**9),
            Turn("solution", block, (solution_ns,), 10**9),
        ]
    return Timing("full", tuple(turns), floors=TimerOverhead(1_250.0, 3_000.0), fresh_at=(blocks, 2 * blocks))


def test_what_is_as_narrow_as_asked_has_missed_nothing() -> None:
    assert missed_precision(three(2, 2, 2), PUBLISH) is None
    assert missed_precision(measured(), TimingConfig(precision=None)) is None  # nothing was asked for
    assert missed_precision(measured(blocks=5), PUBLISH) is None  # no interval at all


def test_processes_that_lie_apart() -> None:
    assert tells(missed_precision(three(2, 2, 2.02), PUBLISH), "0.61 %", "0.25 %", "processes", "0.50 %")


def test_short_calls() -> None:
    missed = missed_precision(three(2, 2, 2, solution_ns=12_000), PUBLISH)
    assert tells(missed, "1.25 %", "0.25 %", "1.25 %", "timing.processes")


@pytest.mark.parametrize(
    ("blocks", "limit", "key"),
    [(12, "12 blocks", "timing.blocks"), (13, "300 s", "timing.budget_s")],
)
def test_scatter_that_there_was_no_time_for(blocks: int, limit: str, key: str) -> None:
    missed = missed_precision(three(2, 2, 2, scatter=0.01), replace(PUBLISH, blocks=blocks))
    assert tells(missed, "0.25 %", limit, key)


def test_short_calls_that_scatter_as_well() -> None:
    """Wider than what workers differ by: more blocks would have helped."""
    missed = missed_precision(three(2, 2, 2, scatter=0.03, solution_ns=12_000), PUBLISH)
    assert tells(missed, "300 s", "timing.budget_s")


def scattered(processes: int, blocks: int, scatter: float, outlier: float = 0.0) -> Timing:
    """Processes that don't differ, but for the last one, which is off by `outlier`."""
    rng = random.Random(7)
    turns = []
    for block in range(processes * blocks):
        off = rng.gauss(1, scatter) * (1 + (outlier if block >= (processes - 1) * blocks else 0))
        turns += [Turn("eager", block, (round(2e7 * off),), 10**9), Turn("solution", block, (10_000_000,), 10**9)]
    floors = TimerOverhead(1_250.0, 3_000.0)
    return Timing("full", tuple(turns), floors=floors, fresh_at=tuple(range(blocks, processes * blocks, blocks)))


def test_processes_whose_blocks_scatter_are_not_said_to_differ() -> None:
    missed = missed_precision(scattered(3, 6, 0.01), PUBLISH)
    assert missed is not None
    assert "apart" not in missed
    assert missed.endswith("(timing.budget_s)")


def test_of_many_processes_the_outermost_is_not_in_the_interval() -> None:
    twelve = replace(PUBLISH, processes=12, precision=0.0025, blocks=6)
    assert missed_precision(scattered(12, 6, 0.0001, outlier=0.02), twelve) is None
