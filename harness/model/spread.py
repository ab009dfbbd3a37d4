"""How values lie: quartiles, deviation, and how many lie far out. Nothing is left out of any of them."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from harness.model.statistics import median

FENCE = 3.0
"""Tukey's outer fence, in interquartile ranges beyond a quartile. Of normally distributed values one in 400,000 lies
outside. Source: J. W. Tukey, Exploratory Data Analysis, 1977, section 2D."""
LEAST_REACH = 0.01
"""Of the median: a fence is never nearer to its quartile. A clock has steps; where most samples are equal, one that is
a step further is no outlier."""


@dataclass(frozen=True)
class Spread:
    """Of `n` values. `mad` is the median absolute deviation from the median, not scaled to a standard deviation;
    `outliers` are counted, and are in all the other numbers."""

    n: int
    minimum: float
    q1: float
    median: float
    q3: float
    maximum: float
    mad: float
    outliers: int


def spread(values: Sequence[float]) -> Spread:
    middle = median(values)
    q1, q3 = quartiles(values)
    low, high = fences(values)
    return Spread(
        n=len(values),
        minimum=min(values),
        q1=q1,
        median=middle,
        q3=q3,
        maximum=max(values),
        mad=median([abs(value - middle) for value in values]),
        outliers=sum(not low <= value <= high for value in values),
    )


def quartiles(values: Sequence[float]) -> tuple[float, float]:
    """The first and the third, interpolated between neighbours as numpy's are by default (R's type 7)."""
    if len(values) == 1:
        return values[0], values[0]
    low, _, high = statistics.quantiles(values, n=4, method="inclusive")
    return low, high


def fences(values: Sequence[float]) -> tuple[float, float]:
    """What lies outside of these is an outlier."""
    low, high = quartiles(values)
    reach = max(FENCE * (high - low), LEAST_REACH * median(values))
    return low - reach, high + reach
