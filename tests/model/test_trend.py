"""Trends and levels: against values computed by hand, and against scipy where it is at hand."""

from __future__ import annotations

import random

import pytest

from harness.model.spread import Levels, mann_kendall, theil_sen, two_levels


def test_the_slope_is_the_median_of_all_slopes() -> None:
    # slopes 1, 2, 3 (neighbours), 1.5, 2.5, 2: median 2
    assert theil_sen([0.0, 1.0, 3.0, 6.0]) == 2.0


def test_a_wild_value_does_not_move_the_slope() -> None:
    assert theil_sen([0.0, 1.0, 2.0, 300.0, 4.0, 5.0, 6.0]) == 1.0


def test_a_rise_without_exception_is_a_trend_even_of_six() -> None:
    # score 15, variance 6·5·17/18: z = 14 / 5.3229
    assert mann_kendall([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]) == pytest.approx(0.00853, abs=1e-5)
    assert mann_kendall([6.0, 5.0, 4.0, 3.0, 2.0, 1.0]) == pytest.approx(0.00853, abs=1e-5)


def test_up_and_down_is_no_trend() -> None:
    assert mann_kendall([1.0, 3.0, 2.0, 3.0, 1.0, 2.0]) == 1.0


def test_equal_values_are_no_trend() -> None:
    assert mann_kendall([4.0] * 8) == 1.0


def test_two_groups_are_two_levels() -> None:
    assert two_levels([100.0, 104.1, 100.2, 104.0, 100.1, 103.9, 99.9, 104.0, 100.0, 100.1], 0.2, 0.015) == Levels(
        100.05, 104.0, 0.4
    )


@pytest.mark.parametrize(
    "values",
    [
        [100.0, 100.5, 101.0, 101.5, 102.0, 102.5, 103.0, 103.5, 104.0, 104.5],  # one wide group
        [100.0] * 9 + [104.0],  # one outlier
        [100.0] * 5 + [101.0] * 5,  # levels, but closer than 1.5 %
        [90.0, 95.0, 100.0, 98.0, 92.0, 106.0, 110.0, 116.0, 113.0, 108.0],  # no wider a gap than the groups deviate
        [100.0, 104.0],
    ],
)
def test_one_group_has_no_levels(values: list[float]) -> None:
    assert two_levels(values, 0.2, 0.015) is None


def test_trends_agree_with_scipy() -> None:
    stats = pytest.importorskip("scipy.stats", reason="scipy isn't installed; harness doesn't need it")
    rng = random.Random(3)
    for n in (6, 12, 40):
        values = [rng.gauss(0, 1) + 0.05 * i for i in range(n)]
        assert theil_sen(values) == pytest.approx(stats.theilslopes(values)[0])
        # scipy's normal approximation goes without the correction for continuity, which makes ours the larger one
        theirs = stats.kendalltau(range(n), values, method="asymptotic").pvalue
        assert theirs <= mann_kendall(values) <= theirs + 0.3
        exact = stats.kendalltau(range(n), values, method="exact").pvalue
        assert mann_kendall(values) == pytest.approx(exact, abs=0.02)
