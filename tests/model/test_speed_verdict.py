"""One word for a speed-up, from its whole interval."""

from __future__ import annotations

import pytest

from harness.model.statistics import Interval, SpeedVerdict, delta_of, speed_verdict


def interval(low: float, high: float) -> Interval:
    return Interval((low * high) ** 0.5, low, high, 0.95)


@pytest.mark.parametrize(
    ("low", "high", "word"),
    [
        (1.011, 1.02, "faster"),
        (1.009, 1.02, "inconclusive"),
        (0.98, 0.99, "slower"),
        (0.98, 0.995, "inconclusive"),
        (0.995, 1.008, "same"),
        (0.97, 1.03, "inconclusive"),
        (1.0, 1.0, "same"),
    ],
)
def test_the_whole_interval_decides(low: float, high: float, word: SpeedVerdict) -> None:
    assert speed_verdict(interval(low, high), 0.01) == word


def test_without_an_interval_nothing_is_concluded() -> None:
    assert speed_verdict(None, 0.01) == "inconclusive"


def test_swapping_the_arms_swaps_the_word() -> None:
    assert speed_verdict(interval(1 / 1.02, 1 / 1.011), 0.01) == "slower"
    assert speed_verdict(interval(1.011, 1.02), 0.01) == "faster"


def test_no_control_leaves_one_percent() -> None:
    assert delta_of(None) == 0.01


@pytest.mark.parametrize(
    ("low", "high", "delta"),
    [(0.995, 1.004, 0.01), (0.998, 1.03, 0.03), (0.96, 1.001, 1 / 0.96 - 1), (1.02, 1.03, 0.03)],
)
def test_what_equal_arms_show_is_no_difference(low: float, high: float, delta: float) -> None:
    assert delta_of(interval(low, high)) == pytest.approx(delta)
