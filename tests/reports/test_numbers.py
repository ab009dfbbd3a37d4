"""Numbers for people."""

from __future__ import annotations

import math

import pytest

from harness.model.check import DerivedTolerance, Tolerance
from harness.model.statistics import Interval
from harness.reports.numbers import (
    derived_words,
    format_error,
    format_median,
    format_ms,
    format_rate,
    format_span,
    format_speedup,
)
from tests.examples import check, comparison


@pytest.mark.parametrize(
    ("estimate", "low", "high", "text"),
    [
        (3.12749, 3.1214, 3.1331, "3.1275× [3.1214, 3.1331]"),  # ± 0.0059
        (3.12749, 3.06, 3.19, "3.127× [3.060, 3.190]"),  # ± 0.065
        (3.12749, 2.5, 3.8, "3.13× [2.50, 3.80]"),  # ± 0.65
        (31.2749, 25.0, 38.0, "31.3× [25.0, 38.0]"),  # ± 6.5
        (412.749, 350.0, 480.0, "412.7× [350.0, 480.0]"),  # ± 65: never under one digit
        (1.000041, 1.00004, 1.000042, "1.0000× [1.0000, 1.0000]"),  # never above four
        (2.0, 2.0, 2.0, "2.0000× [2.0000, 2.0000]"),
        (0.5, 0.4985, 0.5015, "0.5000× [0.4985, 0.5015]"),
        (0.1656, 0.165434, 0.165766, "0.1656× [0.1654, 0.1658]"),
        (0.0183, 0.0182817, 0.0183183, "0.01830× [0.01828, 0.01832]"),  # below 0.1: a thousandth is seen
        (0.0021, 0.0020979, 0.0021021, "0.002100× [0.002098, 0.002102]"),
        (0.0183, 0.0163, 0.0203, "0.0183× [0.0163, 0.0203]"),  # ± 0.0020
    ],
)
def test_a_speedup_is_rounded_to_the_second_digit_of_its_half_width(
    estimate: float, low: float, high: float, text: str
) -> None:
    assert format_speedup(Interval(estimate, low, high, 0.95)) == text


def test_no_interval_is_a_dash() -> None:
    assert format_speedup(None) == "—"


@pytest.mark.parametrize(
    ("nanoseconds", "text"),
    [
        (1_234_567.0, "1.235"),
        (12_345_678.0, "12.35"),
        (123_456_789.0, "123.5"),
        (1_234_567_890.0, "1235"),
        (98_765_432_100.0, "98765"),
        (56_789.0, "0.05679"),
        (1_500.0, "0.001500"),
        (1.0, "0.000001"),
        (0.0, "0"),
    ],
)
def test_milliseconds_have_four_significant_digits(nanoseconds: float, text: str) -> None:
    assert format_ms(nanoseconds) == text


EXACT = Tolerance(0.0, 0.0)


@pytest.mark.parametrize(
    ("worst", "text"),
    [
        (0.0, "<0.01"),
        (0.0099, "<0.01"),
        (0.1234, "0.12"),
        (1.0, "1.00"),
        (99.5, "99.50"),
        (31_234.0, "3.1e+04"),
        (math.inf, "wrong"),
    ],
)
def test_an_error_is_a_multiple_of_its_tolerance(worst: float, text: str) -> None:
    assert format_error((check(comparison(worst=0.0)), check(comparison(worst=worst)))) == text


def test_equality_is_called_exact() -> None:
    assert format_error((check(comparison(worst=0.0), tolerance=EXACT),)) == "exact"


def test_inequality_under_an_exact_tolerance_is_wrong() -> None:
    assert format_error((check(comparison(worst=math.inf), tolerance=EXACT),)) == "wrong"


def test_no_checks_are_a_dash() -> None:
    assert format_error(()) == "—"


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


@pytest.mark.parametrize(
    ("value", "text"), [(2.312e12, "2.31 TB/s"), (846e9, "846 GB/s"), (12.34e6, "12.3 MB/s"), (1e12, "1 TB/s")]
)
def test_rates_have_three_digits(value: float, text: str) -> None:
    assert format_rate(value, "B/s") == text


@pytest.mark.parametrize(
    ("share", "errors", "words"),
    [
        (0.0, {}, "full, output 1: held to equality"),
        (
            0.002,
            {"eager": 0.00123},
            "full, output 1: held to 0.002 of the local scale (|want| + root mean square), by the reference's own "
            "error (eager 0.0012)",
        ),
        (
            0.001,
            {},
            "full, output 1: held to 0.001 of the local scale (|want| + root mean square), the least that is asked",
        ),
    ],
)
def test_a_derived_tolerance_is_told_with_the_errors_that_there_are(
    share: float, errors: dict[str, float], words: str
) -> None:
    assert derived_words(DerivedTolerance("full", 1, share, min(share, 0.001), errors)) == words
