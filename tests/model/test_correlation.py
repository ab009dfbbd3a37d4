"""Intervals of blocks that resemble their neighbours."""

from __future__ import annotations

import math
import random

import pytest

from harness.model.statistics import independent, median_interval, pairs

RUNS = 600


def wandering(seed: int, count: int, correlation: float, by: float = 0.002) -> list[float]:
    """Ratios of two arms of which each wanders by itself, block by block (AR(1)), beside 0.15 % of jitter."""
    rng = random.Random(seed)
    step = by * math.sqrt(1 - correlation**2)
    arms = [rng.gauss(0, by), rng.gauss(0, by)]
    found = []
    for _ in range(count):
        arms = [correlation * arm + rng.gauss(0, step) for arm in arms]
        found.append(math.exp(arms[0] - arms[1] + rng.gauss(0, 0.0015)))
    return found


def coverage(count: int, correlation: float, by: float = 0.002) -> tuple[float, float]:
    """Of intervals over all blocks as they are, and of those that are claimed."""
    plain = claimed = 0
    for seed in range(RUNS):
        ratios = wandering(seed, count, correlation, by)
        every, found = median_interval(ratios), pairs(ratios, [1.0] * count)
        assert every is not None
        assert found is not None
        plain += every.low <= 1 <= every.high
        claimed += found.low <= 1 <= found.high
    return plain / RUNS, claimed / RUNS


@pytest.mark.parametrize(
    ("count", "correlation", "at_most", "at_least"),
    [(12, 0.8, 0.7, 0.7), (40, 0.5, 0.89, 0.92), (40, 0.8, 0.68, 0.88), (100, 0.5, 0.89, 0.92), (100, 0.8, 0.68, 0.91)],
)
def test_arms_that_wander_by_themselves_are_covered_for_the_most_part(
    count: int, correlation: float, at_most: float, at_least: float
) -> None:
    """`at_most`: the measure of the measure, were blocks taken for independent."""
    plain, claimed = coverage(count, correlation)
    assert plain <= at_most
    assert claimed >= at_least


@pytest.mark.parametrize("count", [12, 40])
def test_blocks_that_are_independent_lose_little(count: int) -> None:
    ratios = [wandering(seed, count, 0, by=0) for seed in range(RUNS)]
    assert sum(independent(one) is not one for one in ratios) <= 0.2 * RUNS
    widths = [
        [found.half_width for found in (median_interval(one), pairs(one, [1.0] * count)) if found] for one in ratios
    ]
    plain, claimed = (sum(both[i] for both in widths) for i in range(2))
    assert plain < claimed < 1.08 * plain


def test_neighbours_are_averaged_until_they_differ_like_any_two() -> None:
    steps = [1.0] * 8 + [5.0] * 8 + [2.0] * 8 + [4.0] * 8
    assert independent(steps) == [1.0, 1.0, 5.0, 5.0, 2.0, 2.0, 4.0, 4.0]


@pytest.mark.parametrize(
    "values",
    [
        [float(i) for i in range(11)],  # too few to be fewer
        [1.0, 2.0] * 10,
        [3.0] * 20,
        [],
    ],
)
def test_others_are_left_as_they_are(values: list[float]) -> None:
    assert independent(values) is values
