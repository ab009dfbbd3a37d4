"""How often a fair measurement is called noisy or different, simulated: equal arms, jitter of normal distribution."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from harness.records.speed_verdict import LEAST_DELTA, speed_verdict
from harness.records.timing import ArmName, Timing, Turn

RUNS = 400


def measurement(seed: int, jitter: float, blocks: int, speedup: float = 1.0, placement: float = 0.0) -> Timing:
    """Two turns of three calls for each arm in each block. `placement`: how much the workers themselves differ."""
    rng = random.Random(seed)
    arms: tuple[ArmName, ...] = ("eager", "control", "solution")
    own = {arm: rng.gauss(1, placement) for arm in arms}
    turns = []
    for block in range(blocks):
        order = rng.sample(arms, len(arms))
        for arm in (*order, *reversed(order)):
            scale = own[arm] * 1e6 / (speedup if arm == "solution" else 1)
            ns = tuple(int(scale * rng.gauss(1, jitter)) for _ in range(3))
            turns.append(Turn(arm, block, ns, sum(ns) + 50))
    return Timing("full", tuple(turns))


@pytest.mark.parametrize(
    ("jitter", "blocks", "most"), [(0.005, 6, 0), (0.005, 12, 0), (0.005, 40, 0), (0.02, 12, 0.02), (0.02, 40, 0.01)]
)
def test_fair_measurements_are_seldom_noisy(jitter: float, blocks: int, most: float) -> None:
    noisy = sum(measurement(seed, jitter, blocks).noise is not None for seed in range(RUNS))
    assert noisy <= most * RUNS


@pytest.mark.parametrize(("jitter", "blocks"), [(0.005, 6), (0.005, 12), (0.02, 12), (0.02, 40), (0.05, 12)])
def test_equal_arms_are_never_called_different(jitter: float, blocks: int) -> None:
    """Fewer than one run in a hundred is what is promised; of these four hundred it is none."""
    words = Counter(measurement(seed, jitter, blocks).speed for seed in range(RUNS))
    assert words["faster"] + words["slower"] == 0


def test_where_workers_differ_by_themselves_the_control_takes_claims_back() -> None:
    """The measure of the measure: a machine on which equal arms are 2 % apart. One control shows one difference of
    many, so it can't take all of them back."""
    fair = [measurement(seed, 0.005, 12, placement=0.015) for seed in range(RUNS)]
    with_control = sum(found.speed in ("faster", "slower") for found in fair)
    without = sum(speed_verdict(found.speedup, LEAST_DELTA) in ("faster", "slower") for found in fair)
    assert without > 0.4 * RUNS
    assert with_control < 0.6 * without
    assert sum(found.noise is not None for found in fair) > 0.6 * RUNS


@pytest.mark.parametrize(("speedup", "word"), [(1.03, "faster"), (1 / 1.03, "slower")])
def test_three_percent_are_found(speedup: float, word: str) -> None:
    found = Counter(measurement(seed, 0.005, 12, speedup).speed for seed in range(RUNS))
    assert found[word] > 0.95 * RUNS  # type: ignore[index]


def test_equal_arms_are_called_the_same_where_it_is_quiet() -> None:
    found = Counter(measurement(seed, 0.005, 12).speed for seed in range(RUNS))
    assert found["same"] > 0.95 * RUNS


def test_an_effect_of_the_size_of_delta_is_left_open() -> None:
    found = Counter(measurement(seed, 0.005, 12, 1.01).speed for seed in range(RUNS))
    assert found["inconclusive"] > 0.9 * RUNS
