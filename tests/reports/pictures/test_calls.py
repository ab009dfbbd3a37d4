"""Each arm's calls, without drawing them."""

from __future__ import annotations

from typing import Any

import pytest

from harness.model.spread import fences
from harness.model.timing import TimerOverhead, Timing, Turn
from harness.reports.pictures.calls import ArmSamples, Samples, counts, samples_of
from harness.reports.timing import arm_numbers
from tests.examples import timing


def turn(arm: Any, block: int, *call_ns: int) -> Turn:
    return Turn(arm, block, call_ns, sum(call_ns) + 100)


TWO_BLOCKS = Timing(
    "full",
    (
        turn("eager", 0, 300, 310),
        turn("solution", 0, 100),
        turn("solution", 0, 110, 120),
        turn("eager", 0, 320),
        turn("solution", 1, 130),
        turn("eager", 1, 330),
    ),
)


def arm_of(*ns: int) -> ArmSamples:
    """The solution's, every call in a block of its own."""
    turns = [turn(arm, block, one) for block, one in enumerate(ns) for arm in ("eager", "solution")]
    return samples_of(Timing("full", tuple(turns))).arms[-1]


def spread(slowest_ns: int) -> Samples:
    return samples_of(Timing("full", (turn("eager", 0, slowest_ns), turn("solution", 0, 100))))


def test_calls_stand_where_they_were_measured() -> None:
    eager, solution = samples_of(TWO_BLOCKS).arms
    assert (eager.name, eager.numbers, eager.ns) == ("eager", (0, 1, 5, 7), (300, 310, 320, 330))
    assert (solution.name, solution.numbers, solution.ns) == ("solution", (2, 3, 4, 6), (100, 110, 120, 130))


def test_blocks_have_borders_and_medians() -> None:
    picture = samples_of(TWO_BLOCKS)
    assert picture.borders == (0, 6, 8)
    assert picture.calls == 8
    assert [(block.first, block.end, block.ns) for block in picture.arms[0].blocks] == [(0, 6, 310), (6, 8, 330)]
    assert picture.wall_ns == 300 + 310 + 320 + 330 + 100 + 110 + 120 + 130 + 6 * 100


def test_what_is_typical_is_the_median_of_the_blocks() -> None:
    calls = [[100] * 3 + [200 + block] * 4 for block in range(5)] + [[100] * 30]
    turns = [one for b, ns in enumerate(calls) for one in (turn("eager", b, 9), turn("solution", b, *ns))]
    solution = samples_of(Timing("full", tuple(turns))).arms[-1]
    assert (solution.median_ns, solution.typical_ns) == (100, 201.5)


def test_it_is_so_with_too_few_of_them_for_an_interval() -> None:
    eager = samples_of(TWO_BLOCKS).arms[0]
    assert (eager.interval, eager.median_ns, eager.typical_ns) == (None, 315, 320)


def test_the_interval_of_a_median_is_that_of_its_blocks() -> None:
    interval = arm_of(100, 101, 102, 103, 104, 105).interval
    assert interval is not None
    assert (interval.low, interval.estimate, interval.high) == (100, 102.5, 105)
    assert arm_of(100, 101, 102, 103, 104).interval is None


def test_the_solution_is_last_and_whatever_has_turns_is_drawn() -> None:
    turns = [turn(arm, 0, 100) for arm in ("solution", "control", "compile", "eager")]
    record = Timing("full", tuple(turns), ("eager", "compile"))
    assert [arm.name for arm in samples_of(record).arms] == ["eager", "compile", "control", "solution"]


def test_blocks_of_fresh_processes_are_known() -> None:
    turns = [turn(arm, block, 100, 101) for block in (3, 4, 5, 6) for arm in ("eager", "solution")]
    picture = samples_of(Timing("full", tuple(turns), metric="gpu_warm", fresh_at=(4, 6)))
    assert picture.borders == (0, 4, 8, 12, 16)
    assert picture.fresh == (4, 12)
    assert picture.metric == "gpu_warm"


def test_outliers_lie_beyond_tukeys_fences() -> None:
    # quartiles 102.25 and 106.75: fences 88.75 and 120.25
    arm = arm_of(100, 101, 102, 103, 104, 105, 106, 107, 120, 121)
    assert fences(arm.ns) == (88.75, 120.25)
    assert arm.outliers == (False,) * 9 + (True,)
    assert sum(arm_of(85, 101, 102, 103, 104, 105, 106, 107, 108, 109).outliers) == 1


def test_a_step_of_the_clock_makes_no_outlier() -> None:
    assert sum(arm_of(*[1000] * 9, 1010).outliers) == 0
    assert sum(arm_of(*[1000] * 9, 1011).outliers) == 1


def test_equal_times_have_no_outliers_and_still_an_axis() -> None:
    arm = arm_of(*[100] * 8)
    assert sum(arm.outliers) == 0
    low, high = arm.close_up_ns
    assert low < 100 < high
    assert len(arm.bins_ns) == 9


def test_a_close_up_leaves_out_what_would_make_a_line_of_the_rest() -> None:
    times = [1000 + i for i in range(20)]
    near, far = arm_of(*times, 1060), arm_of(*times, 9000)
    assert (sum(near.outliers), near.beyond) == (1, 0)
    assert (sum(far.outliers), far.beyond) == (1, 1)
    assert far.close_up_ns[1] < 1100
    assert near.close_up_ns[1] > 1060


def test_a_close_up_never_leaves_out_the_median_or_its_interval() -> None:
    arm = arm_of(*[100] * 6, *[50_000] * 3)
    low, high = arm.close_up_ns
    assert arm.interval is not None
    assert low < arm.interval.low <= arm.interval.high < high
    assert low < arm.median_ns < high


def test_arms_far_apart_share_a_log_axis_with_bins_of_one_ratio() -> None:
    picture = spread(10_000)
    assert picture.is_log
    ratios = [b / a for a, b in zip(picture.bins_ns, picture.bins_ns[1:], strict=False)]
    assert ratios == pytest.approx([ratios[0]] * 60)
    assert picture.bins_ns[0] < 100 < 10_000 < picture.bins_ns[-1]


def test_arms_close_together_share_a_linear_axis_with_bins_of_one_width() -> None:
    picture = spread(290)
    assert not picture.is_log
    widths = [b - a for a, b in zip(picture.bins_ns, picture.bins_ns[1:], strict=False)]
    assert widths == pytest.approx([widths[0]] * 60)
    assert picture.bins_ns[0] < 100 < 290 < picture.bins_ns[-1]


def test_every_call_of_a_close_up_is_in_its_histogram() -> None:
    arm = samples_of(timing(solution_ns=1_000_000)).arms[-1]
    inside = [ns for ns in arm.ns if arm.bins_ns[0] <= ns <= arm.bins_ns[-1]]
    assert len(inside) == len(arm.ns) - arm.beyond == 24


def test_bins_hold_their_lower_edge_and_the_last_one_both() -> None:
    assert counts([1, 1, 2, 4, 9], [1, 2, 3, 4]) == [2, 1, 1]


def test_arms_look_different_and_the_solution_always_the_same() -> None:
    turns = [turn(arm, 0, 100) for arm in ("eager", "compile", "control", "solution")]
    arms = samples_of(Timing("full", tuple(turns), ("eager", "compile"))).arms
    assert len({(arm.colour, arm.marker) for arm in arms}) == 4
    assert (arms[-1].colour, arms[-1].marker) == ("series0", "o")


def test_outliers_are_those_that_other_reports_count() -> None:
    turns = [turn(arm, block, 1000 + block, 1005, 1011) for block in range(8) for arm in ("eager", "solution")]
    record = Timing("full", (*turns, turn("eager", 8, 1000), turn("solution", 8, 900, 1050, 1060)))
    assert sum(samples_of(record).arms[-1].outliers) == arm_numbers(record)[-1].outliers == 3


def test_blocks_of_short_calls_are_averaged_as_elsewhere() -> None:
    turns = [turn(arm, block, 1000, 1000, 1450) for block in range(6) for arm in ("eager", "solution")]
    picture = samples_of(Timing("full", tuple(turns), floors=TimerOverhead(100, 200)))
    assert picture.is_averaged
    assert {block.ns for arm in picture.arms for block in arm.blocks} == {1150}
    assert picture.arms[-1].typical_ns == 1150
