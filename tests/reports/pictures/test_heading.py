"""What stands above a picture."""

from __future__ import annotations

from dataclasses import replace

import pytest

from harness.records.statistics import Interval
from harness.records.timing import Timing, Turn
from harness.reports.pictures.heading import format_median, format_span, heading_of, speed_words
from tests.examples import passed, timing


def varied(solution_ns: int) -> Timing:
    """Seven blocks; eager takes 1.000 to 1.006 ms in them."""
    turns = [
        Turn(arm, block, (ns,), ns + 10)
        for block in range(7)
        for arm, ns in (("eager", 1_000_000 + 1000 * block), ("solution", solution_ns))
    ]
    return Timing("full", tuple(turns))  # type: ignore[arg-type]


def test_a_heading_names_what_was_measured_where_and_when() -> None:
    heading = heading_of(passed(timing=timing()), timing())
    assert heading.title == "maxpool2d / tiled"
    assert heading.verdict == "faster than eager: 3.0000× [2.9910, 3.0090], 95 % interval"
    assert heading.origin == (
        "NVIDIA H100 80GB HBM3, torch 2.11.0+cu130, case full, 2026-11-21 03:10 UTC, "
        "evaluation 20261121T031040-b1084b09"
    )


@pytest.mark.parametrize(
    ("solution_ns", "words"),
    [
        (900_000, "faster than"),
        (1_100_000, "slower than"),
        (1_003_000, "the same as"),
        (991_000, "not told apart from"),
    ],
)
def test_the_interval_decides_what_is_said_of_the_speed(solution_ns: int, words: str) -> None:
    assert speed_words(varied(solution_ns)).startswith(f"{words} eager: ")


def test_without_an_interval_nothing_is_said_of_the_speed() -> None:
    assert speed_words(timing(blocks=5)) == "against eager: too few blocks for an interval"


def test_noise_is_told() -> None:
    wide = [Turn(a, b, (1000 * (1 + b * (a == "eager")),), 9) for b in range(6) for a in ("eager", "solution")]  # type: ignore[arg-type]
    assert "noisy: the interval of the speed-up is ±" in speed_words(Timing("full", tuple(wide)))


def test_strangers_names_are_harmless_and_cut() -> None:
    evaluation = passed("\x1b[31m" + "x" * 100, timing=timing())
    hostile = replace(evaluation, problem=replace(evaluation.problem, name="a\nb"))
    title = heading_of(hostile, timing()).title
    assert title == "a b / \ufffd[31m" + "x" * 28 + "…"


@pytest.mark.parametrize(
    ("median_ns", "interval", "text"),
    [
        (10_830_300.0, Interval(10_830_300, 10_822_000, 10_834_200, 0.95), "10.8303 ms [10.8220, 10.8342]"),
        (4_702.0, Interval(4702, 4600, 4800, 0.95), "4.70 µs [4.60, 4.80]"),
        (812.0, Interval(812, 812, 812, 0.95), "812.000 ns [812.000, 812.000]"),
        (2_500_000_000.0, None, "2.5 s"),
    ],
)
def test_medians_have_the_digits_that_their_interval_supports(
    median_ns: float, interval: Interval | None, text: str
) -> None:
    assert format_median(median_ns, interval) == text


@pytest.mark.parametrize(("ns", "text"), [(5_890_000_000, "5.89 s"), (6_470_000, "6.47 ms"), (0.5, "0.5 ns")])
def test_spans_have_a_fitting_unit(ns: float, text: str) -> None:
    assert format_span(ns) == text
