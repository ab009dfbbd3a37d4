"""Timings: raw turns, and what is derived from them."""

from __future__ import annotations

import pytest

from harness.records.timing import ArmName, Timing, Turn
from tests.examples import timing


def turn(arm: ArmName, block: int, *call_ns: int) -> Turn:
    return Turn(arm, block, call_ns, sum(call_ns) + 10)


TWO_BLOCKS = Timing(
    "full",
    (
        turn("eager", 0, 10, 20),
        turn("solution", 0, 4),
        turn("solution", 0, 6),
        turn("eager", 0, 30, 90),
        turn("solution", 1, 8),
        turn("eager", 1, 100),
    ),
)


def test_calls_keep_their_order() -> None:
    assert TWO_BLOCKS.calls_ns("eager") == (10, 20, 30, 90, 100)
    assert TWO_BLOCKS.calls_ns("solution") == (4, 6, 8)


def test_the_median_is_over_all_calls_of_an_arm() -> None:
    assert TWO_BLOCKS.median_ns("eager") == 30
    assert TWO_BLOCKS.median_ns("solution") == 6


def test_each_block_has_its_own_median() -> None:
    assert TWO_BLOCKS.block_ns("eager") == (25.0, 100)
    assert TWO_BLOCKS.block_ns("solution") == (5.0, 8)


def test_too_few_blocks_have_no_speedup() -> None:
    assert TWO_BLOCKS.speedup is None
    assert timing(blocks=5).speedup is None


def test_the_speedup_is_reference_over_solution() -> None:
    speedup = timing(eager_ns=3_000, solution_ns=1_500).speedup
    assert speedup is not None
    assert (speedup.low, speedup.estimate, speedup.high) == pytest.approx((2.0, 2.0, 2.0))


@pytest.mark.parametrize(("call_ns", "wall_ns"), [((), 5), ((0,), 5), ((3, -1), 5), ((3,), 0)])
def test_a_turn_has_positive_times(call_ns: tuple[int, ...], wall_ns: int) -> None:
    with pytest.raises(ValueError, match="positive times"):
        Turn("eager", 0, call_ns, wall_ns)


@pytest.mark.parametrize("arm", ["eager", "solution"])
def test_a_timing_has_both_arms(arm: ArmName) -> None:
    with pytest.raises(ValueError, match="all arms have turns"):
        Timing("full", (turn(arm, 0, 5),))


def test_a_block_that_lacks_an_arm_is_refused() -> None:
    with pytest.raises(ValueError, match="every block has all arms"):
        Timing("full", (turn("eager", 0, 5), turn("solution", 0, 5), turn("eager", 1, 5)))


def test_blocks_that_each_lack_another_arm_are_refused() -> None:
    with pytest.raises(ValueError, match="every block has all arms"):
        Timing("full", (turn("eager", 0, 5), turn("solution", 1, 5)))
