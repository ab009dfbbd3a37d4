"""How values lie: quartiles, deviation, and how many lie far out. Nothing is left out of any of them."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from harness.records.statistics import median

_FAR_OUT = 3.0
"""Tukey's outer fence, in interquartile ranges beyond a quartile. Of normally distributed values one in 400,000 lies
outside. Source: J. W. Tukey, Exploratory Data Analysis, 1977, section 2D."""
_LEAST_REACH = 0.01
"""Of the median. A clock has steps; where most samples are equal, one that is a step further is no outlier."""


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
    """Quartiles are interpolated between neighbours, as numpy's are by default."""
    middle = median(values)
    q1, _, q3 = statistics.quantiles(values, n=4, method="inclusive") if len(values) > 1 else (middle,) * 3
    reach = max(_FAR_OUT * (q3 - q1), _LEAST_REACH * middle)
    return Spread(
        n=len(values),
        minimum=min(values),
        q1=q1,
        median=middle,
        q3=q3,
        maximum=max(values),
        mad=median([abs(value - middle) for value in values]),
        outliers=sum(not q1 - reach <= value <= q3 + reach for value in values),
    )
