"""What simulated measurements hold intervals against."""

from __future__ import annotations

from harness.model.statistics import pairs
from harness.model.timing import Timing


def covers(timing: Timing, truth: float) -> bool:
    """Whether the speed-up's interval holds the truth by its pairs alone: without what workers differ by, which
    simulated noise of a few tenths of a percent would hide behind."""
    interval = pairs(timing.block_ns("eager"), timing.block_ns("solution"), timing.fresh_pairs)
    assert interval is not None
    return interval.low <= truth <= interval.high
