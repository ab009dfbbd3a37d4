"""Quartiles, deviation, outliers: against values computed by hand."""

from __future__ import annotations

from harness.model.spread import Spread, spread


def test_quartiles_lie_between_neighbours() -> None:
    assert spread([10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0]) == Spread(
        n=8, minimum=10, q1=27.5, median=45.0, q3=62.5, maximum=80, mad=20.0, outliers=0
    )


def test_an_outlier_is_counted_and_stays() -> None:
    # quartiles 102 and 108: the fence is at 108 + 3·6 = 126
    values = [100.0, 101.0, 102.0, 104.0, 105.0, 106.0, 108.0, 109.0, 127.0]
    found = spread(values)
    assert (found.q1, found.q3, found.outliers, found.n, found.maximum) == (102, 108, 1, 9, 127)


def test_a_value_on_the_fence_is_no_outlier() -> None:
    assert spread([100.0, 101.0, 102.0, 104.0, 105.0, 106.0, 108.0, 109.0, 126.0]).outliers == 0


def test_one_step_of_the_clock_is_no_outlier_among_equal_samples() -> None:
    assert spread([5000.0] * 20 + [5032.0]).outliers == 0
    assert spread([5000.0] * 20 + [5064.0]).outliers == 1


def test_one_value_is_all_of_its_quartiles() -> None:
    assert spread([7.0]) == Spread(n=1, minimum=7, q1=7, median=7, q3=7, maximum=7, mad=0, outliers=0)
