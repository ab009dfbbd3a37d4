"""Scales, ticks and the marks of the pictures."""

from __future__ import annotations

import re
from datetime import datetime

import pytest

from harness.records.ranking import FastP
from harness.records.statistics import Interval
from harness.reports.leaderboard.html.charts import (
    Curve,
    Measurement,
    Point,
    bar,
    bar_axis,
    fast_p_chart,
    format_rate,
    histogram,
    history_chart,
    roofline,
)
from harness.reports.leaderboard.html.svg import Scale, element, log_ticks, spread


def interval(estimate: float) -> Interval:
    return Interval(estimate, estimate * 0.9, estimate * 1.1, 0.95)


def test_a_log_scale_puts_equal_ratios_at_equal_distances() -> None:
    scale = Scale(0.1, 10, 0, 100, is_log=True)
    assert [round(scale(v), 6) for v in (0.1, 1, 10)] == [0, 50, 100]


@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [
        (0.9, 3.3, [1.0, 1.5, 2.0, 3.0]),
        (0.015, 1.2, [0.02, 0.05, 0.1, 0.2, 0.5, 1.0]),
        (1.0, 1e6, [1, 10, 100, 1000, 10000, 100000, 1000000][::2]),
    ],
)
def test_ticks_are_round_and_few(low: float, high: float, ticks: list[float]) -> None:
    assert log_ticks(low, high) == pytest.approx(ticks)


def test_labels_keep_their_distance_within_the_limit() -> None:
    assert spread([10, 11, 50], gap=14, limit=100) == [10, 24, 50]
    assert spread([90, 95, 99], gap=14, limit=100) == [72, 86, 100]


def test_a_bar_starts_at_one_on_a_log_axis() -> None:
    axis = bar_axis([interval(4.0), interval(0.5)])
    drawn = bar(axis, interval(4.0))
    x, width = (float(v) for v in re.search(r'x="([\d.]+)%" y="4" width="([\d.]+)%"', drawn).groups())  # type: ignore[union-attr]
    assert x == pytest.approx(axis(1.0), abs=0.01)
    assert x + width == pytest.approx(axis(4.0), abs=0.02)
    assert 'class="bar faster"' in drawn
    assert 'class="bar slower"' in bar(axis, interval(0.5))


def test_fast_p_marks_say_their_counts() -> None:
    drawn = fast_p_chart([Curve("all", 0, False, (FastP(0.0, 3, 4), FastP(1.0, 1, 4)))])
    assert "all: 3 of 4 above 0×" in drawn
    assert "all: 1 of 4 above 1×" in drawn


@pytest.mark.parametrize("value", [0.0, -1.0, 1e-320, 1e308, float("inf")])
def test_no_number_breaks_a_picture(value: float) -> None:
    points = [Point("odd", value, value, False, format_rate(value, "FLOP/s")), Point("plain", 1.0, 1e12, False, "")]
    odd = Interval(value, value, value, 0.95)
    pictures = [roofline(points), roofline(points[:1]), bar(bar_axis([odd]), odd), bar(bar_axis([interval(2.0)]), odd)]
    for picture in pictures:
        positions = [float(v) for v in re.findall(r'(?:x|y|x1|y1|cx|cy)="(-?[\d.]+|nan|-?inf)%?"', picture)]
        assert positions
        assert all(-10 <= position <= 300 for position in positions)


def test_a_roofline_names_its_points() -> None:
    points = [Point(name, 100.0, rate, False, f"{name}!") for name, rate in (("<a>", 1e12), ("b", 1.01e12))]
    drawn = roofline(points)
    assert "&lt;a&gt;</text>" in drawn
    assert "<a>" not in drawn


def test_history_names_only_what_was_measured_again() -> None:
    at = [datetime(2026, 11, day) for day in (1, 2, 3)]
    drawn = history_chart(
        [
            Measurement("twice", at[0], interval(2.0), "first"),
            Measurement("once", at[1], interval(1.0), "only"),
            Measurement("twice", at[2], interval(3.0), "second"),
        ]
    )
    assert ("twice</text>" in drawn, "once</text>" in drawn, "only</title>" in drawn) == (True, False, True)


def test_a_histogram_has_its_highest_column_where_most_values_are() -> None:
    drawn = histogram([100, 100, 100, 150, 200], 100, 200, bins=10)
    assert re.findall(r"M(\d+) 24V([\d.]+)", drawn) == [("0", "1.0"), ("5", "16.3"), ("9", "16.3")]


def test_equal_samples_make_one_column() -> None:
    assert histogram([7, 7, 7], 7, 7, bins=10).count("M") == 1


@pytest.mark.parametrize(
    ("value", "text"), [(2.312e12, "2.31 TB/s"), (846e9, "846 GB/s"), (12.34e6, "12.3 MB/s"), (1e12, "1 TB/s")]
)
def test_rates_have_three_digits(value: float, text: str) -> None:
    assert format_rate(value, "B/s") == text


def test_svg_escapes_attributes_and_children() -> None:
    assert element("text", {"text_anchor": '"><script>'}, "<b>") == (
        '<text text-anchor="&#34;&gt;&lt;script&gt;">&lt;b&gt;</text>'
    )
