"""Bars, fast_p, speed-ups over time and the page's roofline."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

import pytest

from harness.model.ranking import FastP
from harness.model.statistics import Interval
from harness.reports.pictures.drawing import Box, Dots, Label, Picture, Stroke
from harness.reports.pictures.roofline import Rate, scatter
from harness.reports.pictures.speedups import (
    Curve,
    Measurement,
    bar,
    bars,
    fast_p_chart,
    history,
    history_chart,
    page_bar,
    speedup_axis,
)


def interval(estimate: float) -> Interval:
    return Interval(estimate, estimate * 0.9, estimate * 1.1, 0.95)


def texts(picture: Picture) -> list[str]:
    return [mark.text for mark in picture.marks if isinstance(mark, Label)]


def notes(picture: Picture) -> list[str]:
    return [mark.about for mark in picture.marks if isinstance(mark, Dots)]


def positions(picture: Picture) -> Iterator[float]:
    for mark in picture.marks:
        points = mark.points if isinstance(mark, (Stroke, Dots)) else [mark.at] if isinstance(mark, Label) else []
        yield from (number for point in points for number in point)


def test_a_bar_starts_at_one_on_a_log_axis() -> None:
    axis = speedup_axis([interval(4.0), interval(0.5)], 1, 99)
    faster, *_ = bar(axis, interval(4.0), 10)
    slower, *_ = bar(axis, interval(0.5), 10)
    assert isinstance(faster, Box)
    assert isinstance(slower, Box)
    assert (faster.corner[0], faster.opposite[0]) == (axis(1.0), axis(4.0))
    assert faster.colour != slower.colour


def test_bars_are_named_and_grouped() -> None:
    picture = bars("here", {"relu, tf32": [("1  fast", interval(4.0)), ("2  slow", interval(0.5))]}, "eager")
    for text in ("here", "relu, tf32", "1  fast", "2  slow", "0.5×"):
        assert text in texts(picture)


def test_fast_p_marks_say_their_counts() -> None:
    drawn = fast_p_chart([Curve("all", 0, False, (FastP(0.0, 3, 4), FastP(1.0, 1, 4)))])
    assert notes(drawn) == ["all: 3 of 4 above 0×", "all: 1 of 4 above 1×"]


@pytest.mark.parametrize("value", [0.0, -1.0, 1e-320, 1e308, float("inf")])
def test_no_number_breaks_a_picture(value: float) -> None:
    rates = [Rate("odd", value, value, False, ""), Rate("plain", 1.0, 1e12, False, "")]
    odd = Interval(value, value, value, 0.95)
    axes = speedup_axis([odd], 1, 99), speedup_axis([interval(2.0)], 1, 99)
    for picture in (scatter(rates), scatter(rates[:1]), *(page_bar(axis, odd) for axis in axes)):
        found = list(positions(picture))
        assert found
        assert all(-10 <= position <= 300 for position in found)


def test_a_roofline_names_its_points() -> None:
    assert {"<a>", "b"} < set(texts(scatter([Rate(name, 100.0, 1e12, False, "") for name in ("<a>", "b")])))


def measured(name: str, day: int, about: str = "") -> Measurement:
    return Measurement(name, datetime(2026, 11, day), interval(2.0), about)


def test_the_page_names_only_what_was_measured_again() -> None:
    drawn = history_chart([measured("twice", 1, "first"), measured("once", 2, "only"), measured("twice", 3, "second")])
    assert "twice" in texts(drawn)
    assert "once" not in texts(drawn)
    assert sorted(notes(drawn)) == ["first", "only", "second"]


def test_a_file_names_everything_and_tells_more_than_a_palette_apart() -> None:
    names = [f"s{number}" for number in range(9)]
    drawn = history("relu", "h100", [measured(name, 1 + day) for name in names for day in (0, 1)])
    assert {"relu", "h100", *names} < set(texts(drawn))
    looks = {(mark.colour, mark.marker) for mark in drawn.marks if isinstance(mark, Dots)}
    assert len(looks) == 9


def test_one_moment_can_be_drawn() -> None:
    assert all(0 <= position <= 768 for position in positions(history("relu", "h100", [measured("only", 1)])))
