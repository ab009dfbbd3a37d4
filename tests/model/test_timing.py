"""Timings: raw turns, and what is derived from them."""

from __future__ import annotations

from dataclasses import replace

import pytest
from pydantic import ValidationError

from harness.model.arms import ArmName
from harness.model.timing import Row, TimerOverhead, Timing, Turn
from harness.store.line import from_line, to_line
from tests.examples import measured, passed, timing


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


@pytest.mark.parametrize(
    ("method", "of_eager", "of_solution"),
    [
        ("calls_ns", (10, 20, 30, 90, 100), (4, 6, 8)),
        ("median_ns", 30, 6),
        ("block_ns", (25.0, 100), (5.0, 8)),
        ("time_ns", 62.5, 6.5),  # the median of the blocks
    ],
)
def test_times_are_over_the_calls_or_the_blocks_of_an_arm(method: str, of_eager: object, of_solution: object) -> None:
    assert [getattr(TWO_BLOCKS, method)(arm) for arm in ("eager", "solution")] == [of_eager, of_solution]


def test_the_least_that_a_call_takes_is_by_calls_or_by_blocks() -> None:
    assert TWO_BLOCKS.least_ns("eager") == 30  # the median of all calls
    gathered = Timing(
        "full", (turn("eager", 0, 9), turn("solution", 0, 2), turn("eager", 1, 9), turn("solution", 1, 4, 4, 4))
    )
    assert (gathered.median_ns("solution"), gathered.least_ns("solution")) == (4, 3)


def test_too_few_blocks_have_no_speedup() -> None:
    assert TWO_BLOCKS.speedup is None
    assert timing(blocks=5).speedup is None


def test_the_speedup_is_reference_over_solution() -> None:
    speedup = timing(eager_ns=3_000_000, solution_ns=1_500_000).speedup
    assert speedup is not None
    assert (speedup.low, speedup.estimate, speedup.high) == pytest.approx((1.9940016, 2.0, 2.0060164), rel=1e-7)


@pytest.mark.parametrize(("call_ns", "wall_ns"), [((), 5), ((0,), 5), ((3, -1), 5), ((3,), 0)])
def test_a_turn_has_positive_times(call_ns: tuple[int, ...], wall_ns: int) -> None:
    with pytest.raises(ValidationError):
        Turn("eager", 0, call_ns, wall_ns)


@pytest.mark.parametrize(
    ("turns", "words"),
    [
        ([turn("eager", 0, 5)], "all arms"),
        ([turn("solution", 0, 5)], "all arms"),
        ([turn("eager", 0, 5), turn("solution", 0, 5), turn("eager", 1, 5)], "every block"),
        ([turn("eager", 0, 5), turn("solution", 1, 5)], "every block"),
    ],
)
def test_a_timing_has_both_arms_in_every_block(turns: list[Turn], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Timing("full", tuple(turns))


def test_reports_name_the_control_before_the_solution() -> None:
    assert measured().arms == ("eager", "control", "solution")
    assert timing().arms == ("eager", "solution")


def short(
    solution_ns: tuple[int, ...], floors: TimerOverhead | None = TimerOverhead(500.0, 900.0), blocks: int = 6
) -> Timing:
    turns = [t for b in range(blocks) for t in (turn("eager", b, 19_000), turn("solution", b, *solution_ns))]
    return Timing("full", tuple(turns), floors=floors)


def test_a_block_of_short_calls_has_their_mean() -> None:
    assert short((9_500, 9_500, 10_000)).block_ns("solution") == pytest.approx((9666.667,) * 6)


def test_both_arms_are_averaged_where_one_is_short() -> None:
    found = Timing(
        "full",
        tuple(t for b in range(6) for t in (turn("eager", b, 30_000, 30_000, 45_000), turn("solution", b, 19_999))),
        floors=TimerOverhead(500.0, 900.0),
    )
    assert found.is_averaged
    assert found.block_ns("eager") == (35_000.0,) * 6


def test_calls_of_twenty_microseconds_keep_their_median() -> None:
    turns = [t for b in range(6) for t in (turn("eager", b, 20_000), turn("solution", b, 20_000, 20_000, 60_000))]
    found = Timing("full", tuple(turns), floors=TimerOverhead(500.0, 900.0))
    assert not found.is_averaged
    assert found.block_ns("solution") == (20_000,) * 6


def test_an_older_record_of_short_calls_reads_as_it_did() -> None:
    assert short((9_500, 9_500, 10_000), floors=None).block_ns("solution") == (9_500,) * 6


def test_no_ratio_is_claimed_below_three_empty_kernels() -> None:
    assert short((2_699,)).speedup is None
    assert short((2_699,)).speed == "inconclusive"
    assert short((2_700,)).speedup is not None


def test_the_hosts_clock_has_other_floors() -> None:
    assert replace(short((2_699,)), metric="end_to_end").speedup is not None


def test_a_further_baseline_below_the_floor_takes_nothing_from_the_headline() -> None:
    times: dict[ArmName, int] = {"eager": 9_000, "compile": 2_000, "solution": 4_500}
    turns = [turn(arm, block, ns) for block in range(6) for arm, ns in times.items()]
    found = Timing("full", tuple(turns), ("eager", "compile"), floors=TimerOverhead(500.0, 900.0))
    assert found.speedup is not None
    assert found.speedup_over("compile") is None


def test_processes_that_disagree_widen_the_interval() -> None:
    """The first of them has a single block, an eleventh of all, which their interval alone would leave out."""
    turns = []
    for b in range(11):
        solution_ns = 90_000_000 if b == 0 else 100_000_000
        turns += [turn("eager", 5 + b, 100_000_000), turn("solution", 5 + b, solution_ns)]
    found = Timing("full", tuple(turns), fresh_at=(5, 6, 11))
    assert found.fresh_pairs == (0, 1, 6)
    assert found.speedup is not None
    assert (found.speedup.low, found.speedup.high) == pytest.approx((0.9980122, 1.1111111), rel=1e-7)
    alone = replace(found, fresh_at=()).speedup
    assert alone is not None
    assert alone.high == pytest.approx(1.0030045, rel=1e-7)


def test_the_control_says_what_equal_arms_measure() -> None:
    control = measured().control_ratio
    assert control is not None
    assert (control.low, control.high) == pytest.approx((0.996991, 1.003234), abs=1e-6)
    assert measured().delta == 0.01
    assert timing().control_ratio is None


def test_the_word_is_no_finer_than_the_control() -> None:
    """Four percent faster; the control's twin is five percent slower."""

    def scaled(turn: Turn) -> Turn:
        ns = tuple({"solution": 1_000_000, "control": 1_100_000, "eager": 1_040_000}[turn.arm] for _ in turn.call_ns)
        return replace(turn, call_ns=ns, wall_ns=sum(ns))

    found = measured(turns=scaled)
    assert found.delta == pytest.approx(1.1 / 1.04 * 1.0030162 - 1)
    assert found.speed == "same"
    without = replace(found, turns=tuple(turn for turn in found.turns if turn.arm != "control"), rows=())
    assert without.speed == "faster"


def test_a_row_is_a_timing_of_its_own() -> None:
    found = measured()
    (row,) = found.rows
    warm = found.of_row(row)
    assert warm.metric == "gpu_warm"
    assert warm.median_ns("solution") == pytest.approx(800_000, rel=0.001)
    assert warm.speedup is not None
    assert warm.speedup.estimate == pytest.approx(3, rel=0.001)


def test_a_row_knows_its_processes_and_keeps_them_in_the_journal() -> None:
    (row,) = measured().rows
    found = measured(rows=(replace(row, fresh_at=(3,)),))
    of_row = found.of_row(found.rows[0])
    assert (of_row.fresh_at, of_row.fresh_pairs) == ((3,), (3,))
    assert from_line(to_line(passed(timing=found))).timing == found


def test_a_row_has_the_arms_of_the_headline() -> None:
    (row,) = measured().rows
    lacks = Row("graph", tuple(turn for turn in row.turns if turn.arm != "solution"))
    with pytest.raises(ValueError, match="all arms"):
        measured(rows=(lacks,))


def test_metrics_are_never_mixed() -> None:
    (row,) = measured().rows
    with pytest.raises(ValueError, match="every metric once"):
        measured(rows=(row, row))
    with pytest.raises(ValueError, match="every metric once"):
        measured(metric="gpu_warm")


def test_launches_have_a_ratio_of_their_own() -> None:
    found = measured()
    assert found.launch_ns("solution")[:2] == (30_000, 31_000)
    ratio = found.launch_ratio_over("eager")
    assert ratio is not None
    assert ratio.estimate == pytest.approx(60_500 / 30_500)
    assert timing().launch_ratio_over("eager") is None
