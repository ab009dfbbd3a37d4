"""Medians and their intervals, against values computed by hand."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import astuple
from statistics import median, pstdev
from typing import Any

import pytest

from harness.model.statistics import (
    Interval,
    between_workers,
    geometric_mean,
    median_interval,
    of_medians,
    paired_ratio,
    pairs,
    ratio,
    usual_mean,
)


def paired(numerators: Sequence[float], denominators: Sequence[float], **options: Any) -> Interval:
    interval = paired_ratio(numerators, denominators, **options)
    assert interval is not None
    return interval


def long_ratio(numerators: Sequence[float], denominators: Sequence[float], fresh_at: Sequence[int] = ()) -> Interval:
    """Of a quarter of an hour and more, of which a few ns are nothing."""
    return paired([1e12 * one for one in numerators], [1e12 * one for one in denominators], fresh_at=fresh_at)


@pytest.mark.parametrize("count", [0, 1, 5])
def test_under_six_values_there_is_no_interval(count: int) -> None:
    assert median_interval([1.0] * count) is None


@pytest.mark.parametrize(
    ("values", "options", "interval"),
    [
        # 1 − 2·(1/2)⁶
        ([6.0, 1.0, 5.0, 2.0, 4.0, 3.0], {}, Interval(3.5, 1.0, 6.0, 0.96875)),
        # 1 − 2·(1 + 10)/2¹⁰
        ([10.0 * i for i in range(10)], {}, Interval(45.0, 10.0, 80.0, 0.978515625)),
        # 1 − 2·(1 + 12 + 66)/2¹²
        (list(range(1, 13)), {}, Interval(6.5, 3, 10, 0.96142578125)),
        # 1 − 2·(1 + 12)/2¹²
        (list(range(1, 13)), {"confidence": 0.99}, Interval(6.5, 2, 11, 0.99365234375)),
        ([1.0, 2.0, 4.0], {"confidence": 0.75}, Interval(2.0, 1.0, 4.0, 0.75)),
    ],
    ids=["all-of-six", "second-to-ninth", "third-to-tenth", "higher-confidence", "lower-confidence"],
)
def test_an_interval_lies_between_two_ranks(values: list[float], options: dict[str, float], interval: Interval) -> None:
    assert median_interval(values, **options) == interval


def test_the_given_values_stay_in_their_order() -> None:
    values = [3.0, 1.0, 2.0, 6.0, 5.0, 4.0]
    median_interval(values)
    assert values == [3.0, 1.0, 2.0, 6.0, 5.0, 4.0]


def test_a_ratio_is_paired_block_by_block() -> None:
    interval = long_ratio([2.0, 40.0, 6.0, 8.0, 10.0, 24.0], [1.0, 10.0, 3.0, 4.0, 5.0, 6.0])
    assert (interval.low, interval.high) == pytest.approx((1.994009, 4.000026), rel=1e-6)
    assert interval.estimate == pytest.approx(2.0)
    assert interval.confidence == 0.96875


def test_an_even_number_of_ratios_meets_in_the_geometric_middle() -> None:
    interval = long_ratio([1.0, 1.0, 1.0, 4.0, 4.0, 4.0], [1.0] * 6)
    assert interval.estimate == pytest.approx(2.0)


def test_swapping_the_sides_inverts_the_ratio() -> None:
    a, b = [3.0, 5.0, 7.0, 9.0, 11.0, 14.0], [1.0, 2.0, 4.0, 3.0, 6.0, 5.0]
    there, back = long_ratio(a, b), long_ratio(b, a)
    assert (1 / back.high, 1 / back.estimate, 1 / back.low) == pytest.approx((there.low, there.estimate, there.high))


def test_equal_sides_have_the_ratio_one_to_three_thousandths() -> None:
    interval = long_ratio([7.0] * 6, [7.0] * 6)
    assert (interval.estimate, interval.confidence) == (1.0, 0.96875)
    assert (interval.low, interval.high) == pytest.approx((0.9970045, 1.0030045), rel=1e-8)


def test_each_kernel_that_a_call_launches_lies_elsewhere_too() -> None:
    """Ten kernels in 100 µs scatter between workers as one does in 10."""
    one = paired([10_000] * 6, [10_000] * 6)
    ten = paired([100_000] * 6, [100_000] * 6, kernels=(10, 10))
    assert ten.half_width == pytest.approx(one.half_width)
    assert between_workers([100_000] * 6, [100_000] * 6, kernels=(1, 10)) == pytest.approx(0.0203, rel=0.01)


def test_more_kernels_than_were_measured_count_as_independent_ones() -> None:
    assert between_workers([1e5], [1e9], kernels=(48, 1)) == pytest.approx(
        2 * between_workers([1e5], [1e9], kernels=(12, 1)), rel=0.02
    )
    claimed = paired([1e4] * 20, [1e4] * 20, kernels=(1, 200_000))  # whatever a trace says
    assert claimed.high < 4


def test_where_memory_lies_is_worth_as_many_ns_to_a_short_call_as_to_a_long_one() -> None:
    """200 of each arm's, and three thousandths, as independent errors."""
    for ns, half_width in ((10_000, 0.02845), (20_000, 0.01446), (100_000, 0.00412), (10_000_000, 0.003)):
        interval = paired([ns] * 6, [ns] * 6)
        assert interval.half_width == pytest.approx(half_width, rel=0.01)
    fast = paired([1e7] * 6, [1e4] * 6)
    assert fast.half_width == pytest.approx(0.02023, rel=0.01)  # the short one's places alone


def test_what_workers_differ_by_is_an_error_independent_of_scatter() -> None:
    """Scatter by 0.4 % below and 0.3 above, on a log scale, with 0.3 % of theirs: 0.5 and 0.42."""
    logs = [0.0, -0.004, 0.003, 0.0, -0.004, 0.003]
    interval = long_ratio([math.exp(one) for one in logs], [1.0] * 6)
    assert interval.estimate == pytest.approx(1.0)
    assert (-math.log(interval.low), math.log(interval.high)) == pytest.approx((0.005, 0.003 * math.sqrt(2)), rel=1e-6)


@pytest.mark.parametrize(("processes", "share"), [(1, 1.0), (3, 0.6633), (12, 0.3535)])
def test_workers_that_are_started_anew_differ_independently(processes: int, share: float) -> None:
    """The deviation of a median of so many."""
    interval = long_ratio([1.0] * 24, [1.0] * 24, fresh_at=[2 * process for process in range(processes)])
    assert interval.half_width == pytest.approx(0.003 * share, rel=1e-3)


def test_what_workers_differ_by_is_as_certain_as_was_asked_for() -> None:
    interval = paired([1e12] * 24, [1e12] * 24, confidence=0.99)
    assert interval.half_width == pytest.approx(0.003 * 2.5758 / 1.96, rel=1e-4)


@pytest.mark.parametrize("count", [3, 5, 9])
def test_a_median_of_normal_variables_deviates_as_said(count: int) -> None:
    rng = random.Random(count)
    medians = [median([rng.gauss(0, 1) for _ in range(count)]) for _ in range(20_000)]
    assert of_medians(count) == pytest.approx(pstdev(medians), rel=0.03)
    assert of_medians(2) > math.sqrt(0.5)


def test_one_process_of_many_is_no_bound() -> None:
    """Of six processes all medians are held, of twelve those that make an interval of 95 %."""
    six, twelve = ([1.05 if process == 0 else 1.0 for process in range(count) for _ in range(4)] for count in (6, 12))
    of_six = pairs(six, [1.0] * 24, fresh_at=range(0, 24, 4))
    of_twelve = pairs(twelve, [1.0] * 48, fresh_at=range(0, 48, 4))
    assert of_six is not None
    assert of_twelve is not None
    assert (of_six.high, of_twelve.high) == pytest.approx((1.05, 1.0))


@pytest.mark.parametrize(("apart", "holds"), [(1.0028, True), (1 / 1.0028, True), (1.0033, False), (1 / 1.0033, False)])
def test_equal_arms_in_two_places_of_the_memory_hold_1(apart: float, holds: bool) -> None:
    """Each arm's process is 0.28 % off by where its memory lies, beyond a scatter of 0.01 %. What differs by more than
    such places is a difference."""
    scatter = [1.0, 1.0001, 0.9999, 1.0, 1.0001, 0.9999, 1.0, 1.0001, 0.9999, 1.0, 1.0001, 0.9999]
    interval = long_ratio([apart * one for one in scatter], [1.0] * 12)
    assert (interval.low <= 1 <= interval.high) is holds


@pytest.mark.parametrize(
    ("values", "mean"),
    [
        ([4.0, 6.0, 5.0, 5.0], 5.0),
        ([4.0, 5.0, 6.0, 100.0], 5.0),  # one was held up
        ([4.0, 6.0, 100.0, 100.0], 36.666666666666664),  # two of four weren't by chance
        ([5.0] * 18 + [100.0, 90.0], 5.0),  # two of twenty may be
        ([5.0] * 17 + [100.0, 90.0, 80.0], 9.166666666666666),  # of three the third counts
        ([5.0] * 15 + [7.0] * 5, 5.5),  # less than half as much again is scatter
        ([3.0], 3.0),
    ],
)
def test_a_mean_leaves_out_what_was_held_up(values: list[float], mean: float) -> None:
    assert usual_mean(values) == pytest.approx(mean)


def test_too_few_pairs_have_no_interval() -> None:
    assert paired_ratio([1e12] * 5, [1e12] * 5) is None


def test_sides_of_unequal_length_are_refused() -> None:
    with pytest.raises(ValueError, match="zip"):
        long_ratio([1.0] * 6, [1.0] * 7)


def test_an_interval_holds_the_median_of_every_process() -> None:
    """In an order in which neighbours don't resemble one another, as far as three processes so far apart allow."""
    second = [1.1 + i / 100 for i in (9, 1, 7, 3, 5, 4, 6, 2, 8, 0)]
    values = [1.01, 1.02, 1.0, *second, 1.32, 1.3, 1.31]
    pooled = long_ratio(values, [1.0] * 16)
    widened = long_ratio(values, [1.0] * 16, fresh_at=(0, 3, 13))
    assert (pooled.low, pooled.high) == pytest.approx((1.0998767, 1.1901387))
    assert (widened.low, widened.high) == pytest.approx((1.01, 1.31), rel=1e-4)


def test_processes_that_agree_widen_nothing() -> None:
    values = [1.0, 1.02, 1.01, 1.03, 1.0, 1.02, 1.01, 1.03, 1.0, 1.02, 1.01, 1.03]
    assert pairs(values, [1.0] * 12) == pairs(values, [1.0] * 12, fresh_at=(4, 8))


def test_a_process_with_many_pairs_counts_no_more_than_another() -> None:
    """The noisy one, measured for longer, is off by 0.6 %."""
    interval = long_ratio([1.0] * 12 + [1.004, 1.006, 1.008] * 20, [1.0] * 72, fresh_at=(6, 12))
    assert interval.estimate == pytest.approx(1.0)
    assert interval.low < 1.0
    assert interval.high > 1.006


def test_two_processes_meet_in_the_geometric_middle() -> None:
    interval = long_ratio([1.0] * 6 + [4.0] * 60, [1.0] * 66, fresh_at=(6,))
    assert interval.estimate == pytest.approx(2.0)


def test_processes_that_began_outside_of_the_pairs_are_none() -> None:
    assert long_ratio([2.0] * 6, [1.0] * 6, fresh_at=(0, 6, 9)) == long_ratio([2.0] * 6, [1.0] * 6)


def test_the_interval_of_a_median_agrees_with_scipy() -> None:
    """Its quantile_test() finds the same two order statistics, one side at a time."""
    stats = pytest.importorskip("scipy.stats", reason="scipy isn't installed; harness doesn't need it")
    rng = random.Random(8)
    for n in (6, 7, 12, 25, 60, 101, 3000):  # three processes of publish's most blocks
        values = [rng.lognormvariate(0, 0.1) for _ in range(n)]
        ours = median_interval(values)
        assert ours is not None
        low = stats.quantile_test(values, p=0.5, alternative="greater").confidence_interval(0.975).low
        high = stats.quantile_test(values, p=0.5, alternative="less").confidence_interval(0.975).high
        assert (ours.low, ours.high) == (low, high)


def test_an_interval_holds_its_estimate() -> None:
    with pytest.raises(ValueError, match="estimate"):
        Interval(3.0, 1.0, 2.0, 0.95)


def test_the_half_width_is_relative_to_the_estimate() -> None:
    assert Interval(4.0, 3.0, 5.0, 0.95).half_width == 0.25


@pytest.mark.parametrize(
    ("intervals", "mean"),
    [
        ([Interval(2.0, 1.5, 3.0, 0.96)], (2.0, 1.5, 3.0, 0.96)),
        # each side: exp(sqrt(2)·ln(2)/2) = 2^(1/sqrt(2)) = 1.63253
        (
            [Interval(8.0, 4.0, 16.0, 0.97), Interval(2.0, 1.0, 4.0, 0.95)],
            (4.0, 4.0 / 1.632527, 4.0 * 1.632527, 0.95),
        ),
        ([Interval(4.0, 1.0, 4.0, 0.95), Interval(1.0, 1.0, 1.0, 0.95)], (2.0, 1.0, 2.0, 0.95)),
    ],
)
def test_independent_errors_of_a_mean_add_in_quadrature_on_each_side(
    intervals: list[Interval], mean: tuple[float, ...]
) -> None:
    assert astuple(geometric_mean(intervals)) == pytest.approx(mean, rel=1e-6)


def test_no_ratios_have_no_mean() -> None:
    with pytest.raises(ValueError, match="no mean"):
        geometric_mean([])


def test_a_ratio_of_intervals_is_as_wide_as_both_together() -> None:
    # up: sqrt(ln(2)² + ln(2)²) = ln(2)·sqrt(2); 2^sqrt(2) = 2.66514
    found = ratio(Interval(6.0, 3.0, 12.0, 0.97), Interval(2.0, 1.0, 4.0, 0.95))
    assert (found.estimate, found.low, found.high) == pytest.approx((3.0, 3.0 / 2.665144, 3.0 * 2.665144))
    assert found.confidence == 0.95


def test_in_a_ratio_the_denominators_sides_are_swapped() -> None:
    found = ratio(Interval(6.0, 6.0, 6.0, 0.95), Interval(2.0, 1.0, 2.0, 0.95))
    assert (found.low, found.estimate, found.high) == pytest.approx((3.0, 3.0, 6.0))
