"""Is it faster? One word from an interval, and from what the machine itself makes of equal arms."""

from __future__ import annotations

from typing import Literal

from harness.model.statistics import Interval

SpeedVerdict = Literal["faster", "slower", "same", "inconclusive"]

LEAST_DELTA = 0.01
"""Nothing under 1 % is called a difference: other addresses or another place of the code make as much."""


def delta_of(control: Interval | None) -> float:
    """How far from 1 a ratio still counts as equal: 1 %, or as far as the interval of the A/A control reaches."""
    if control is None:
        return LEAST_DELTA
    return max(LEAST_DELTA, control.high - 1, 1 / control.low - 1)


def speed_verdict(speedup: Interval | None, delta: float) -> SpeedVerdict:
    """From the whole interval: `faster` above 1 + delta, `slower` below 1 / (1 + delta), `same` between the two.

    An interval that reaches over either border is `inconclusive`, and so is none.
    """
    if speedup is None:
        return "inconclusive"
    upper, lower = 1 + delta, 1 / (1 + delta)
    if speedup.low > upper:
        return "faster"
    if speedup.high < lower:
        return "slower"
    return "same" if lower <= speedup.low and speedup.high <= upper else "inconclusive"
