"""The spread of values: quartiles and outliers, a trend through them, a step between two levels.

Sources: P. K. Sen, Estimates of the regression coefficient based on Kendall's tau, J. Am. Stat. Assoc. 63 (1968);
H. B. Mann, Nonparametric tests against trend, Econometrica 13 (1945).
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median, quantiles

FENCE = 3.0
"""Tukey's outer fence, in interquartile ranges beyond a quartile. Of normally distributed values one in 400,000 lies
outside. Source: J. W. Tukey, Exploratory Data Analysis, 1977, section 2D."""
LEAST_REACH = 0.01
"""The least distance of a fence from its quartile, as a share of the median. A clock has steps; where most samples are
equal, one that is a step further is no outlier."""


def quartiles(values: Sequence[float]) -> tuple[float, float]:
    """The first and the third, interpolated between neighbours as numpy's are by default (R's type 7)."""
    if len(values) == 1:
        return values[0], values[0]
    low, _, high = quantiles(values, n=4, method="inclusive")
    return low, high


def fences(values: Sequence[float]) -> tuple[float, float]:
    """Return the fences; a value outside of them is an outlier."""
    low, high = quartiles(values)
    reach = max(FENCE * (high - low), LEAST_REACH * median(values))
    return low - reach, high + reach


def median_deviation(values: Sequence[float]) -> float:
    """The median absolute deviation from the median (MAD), not scaled to a standard deviation."""
    middle = median(values)
    return median([abs(value - middle) for value in values])


def theil_sen(values: Sequence[float]) -> float:
    """The slope per step: the median of the slopes between all pairs, which a quarter of wild values doesn't move."""
    pairs = itertools.combinations(enumerate(values), 2)
    return median([(b - a) / (j - i) for (i, a), (j, b) in pairs])


def mann_kendall(values: Sequence[float]) -> float:
    """Return the probability that a sequence without trend looks as much like one, either way (two-sided p).

    The p is by the normal approximation with corrections for ties and continuity; with six values, as few as an
    interval needs, a monotone sequence has p = 0.009 (exactly: 0.003).
    """
    n = len(values)
    score = sum((b > a) - (b < a) for a, b in itertools.combinations(values, 2))
    ties = Counter(values).values()
    variance = (n * (n - 1) * (2 * n + 5) - sum(t * (t - 1) * (2 * t + 5) for t in ties)) / 18
    if abs(score) <= 1 or variance <= 0:
        return 1.0
    return math.erfc((abs(score) - 1) / math.sqrt(2 * variance))


@dataclass(frozen=True)
class Levels:
    """Two groups of values with nothing between them: the median of each, and the upper one's share of the values."""

    lower: float
    upper: float
    upper_share: float


def two_levels(values: Sequence[float], least_share: float, least_gap: float) -> Levels | None:
    """The widest gap that leaves `least_share` of the values on each side, and the groups that it parts.

    It is None where that is no gap: it must be wider than `least_gap` of the value below it, and than five times what
    values deviate from their own group's median on average.
    """
    ordered = sorted(values)
    n = len(ordered)
    least = max(2, math.ceil(least_share * n))
    splits = range(least, n - least + 1)
    if not splits:
        return None
    split = max(splits, key=lambda i: ordered[i] - ordered[i - 1])
    below, above = ordered[:split], ordered[split:]
    gap = above[0] - below[-1]
    if gap <= max(least_gap * below[-1], 5 * (_deviations(below) + _deviations(above)) / n):
        return None
    return Levels(median(below), median(above), len(above) / n)


def _deviations(group: Sequence[float]) -> float:
    """The sum of absolute deviations from the median."""
    middle = median(group)
    return sum(abs(value - middle) for value in group)
