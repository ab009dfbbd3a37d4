"""Quartiles, deviation, outliers: against values computed by hand."""

from __future__ import annotations

import pytest

from harness.model.spread import fences, median_deviation, quartiles

VALUES = [100.0, 101.0, 102.0, 104.0, 105.0, 106.0, 108.0, 109.0]


def test_quartiles_lie_between_neighbours() -> None:
    assert quartiles([10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0]) == (27.5, 62.5)
    assert quartiles([7.0]) == (7, 7)


def test_the_deviation_is_the_median_of_those_from_the_median() -> None:
    assert median_deviation([10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0]) == 20
    assert median_deviation([7.0]) == 0


@pytest.mark.parametrize("last", [126.0, 127.0])
def test_fences_are_three_times_as_far_apart_as_quartiles(last: float) -> None:
    assert quartiles([*VALUES, last]) == (102, 108)
    assert fences([*VALUES, last]) == (102 - 3 * 6, 108 + 3 * 6)


def test_one_step_of_the_clock_is_no_outlier_among_equal_samples() -> None:
    assert fences([5000.0] * 20 + [5032.0]) == fences([5000.0]) == (4950, 5050)
