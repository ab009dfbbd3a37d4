"""What simulated measurements hold intervals against."""

from __future__ import annotations

from harness.records.statistics import Interval


def covers(interval: Interval | None, truth: float) -> bool:
    """Whether it holds the truth by its pairs alone: without the ±0.1 % for what workers differ by, which simulated
    noise of a few tenths of a percent would hide behind."""
    assert interval is not None
    return interval.low * 1.0010005 <= truth <= interval.high / 1.0010005
