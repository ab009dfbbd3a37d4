"""How often a fair measurement is called noisy or different, simulated: equal arms, jitter of normal distribution."""

from __future__ import annotations

import math
import random
from collections import Counter
from statistics import median

import pytest

from harness.model.arms import ArmName
from harness.model.statistics import BETWEEN_WORKERS, LEAST_DELTA, paired_ratio, pairs, speed_verdict
from harness.model.timing import TimerOverhead, Timing, Turn
from tests.coverage import covers
from tests.machine import heavy

RUNS = 400
USUAL = BETWEEN_WORKERS / 1.96 / math.sqrt(2)
"""By how much each of two workers is off, as a standard deviation."""


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
    ("jitter", "blocks", "most"),
    [
        (0.0005, 6, 0.03),
        (0.0005, 12, 0.02),
        (0.005, 6, 0.03),
        (0.005, 12, 0.01),
        heavy(0.005, 40, 0.01),
        (0.02, 12, 0.02),
        heavy(0.02, 40, 0.01),
    ],
)
def test_fair_measurements_are_seldom_noisy(jitter: float, blocks: int, most: float) -> None:
    noisy = sum(measurement(seed, jitter, blocks, placement=USUAL).noise is not None for seed in range(RUNS))
    assert noisy <= most * RUNS


@pytest.mark.parametrize("blocks", [6, 12, heavy(24)])
def test_a_host_that_is_late_now_and_then_makes_nothing_noisy(blocks: int) -> None:
    """By 0.1 ms in two calls of 1000, as seen on an H100; calls of 15 µs, 24 in each block."""
    noisy = 0
    for seed in range(RUNS):
        rng = random.Random(seed)
        turns = []
        for block in range(blocks):
            for arm in ("eager", "control", "solution") * 2:
                queued = tuple(rng.random() > 0.002 for _ in range(12))
                ns = tuple(int(15_000 * rng.gauss(1, 0.015)) + (0 if in_time else 100_000) for in_time in queued)
                turns.append(Turn(arm, block, ns, sum(ns) + 50, queued=queued))
        found = Timing("full", tuple(turns), floors=TimerOverhead(1_500.0, 2_400.0))
        assert found.is_averaged
        noisy += found.noise is not None
    assert noisy <= 0.01 * RUNS


@pytest.mark.parametrize(("jitter", "blocks"), [(0.005, 6), (0.005, 12), (0.02, 12), heavy(0.02, 40), (0.05, 12)])
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


@pytest.mark.parametrize(("floors", "least", "most"), [(None, 0, 0.1), (TimerOverhead(300.0, 400.0), 0.85, 1)])
def test_a_mean_sees_a_gain_that_is_smaller_than_the_clocks_step(
    floors: TimerOverhead | None, least: float, most: float
) -> None:
    """5.2 µs against 5.0 µs, on a clock that goes on by 0.5 µs: medians of blocks are equal to the step."""
    covered = 0
    for seed in range(RUNS // 4):
        rng = random.Random(seed)
        turns = []
        for block in range(12):
            for arm, true_ns in SHORT:
                ns = tuple(500 * round(rng.gauss(true_ns, 150) / 500) for _ in range(40))
                turns.append(Turn(arm, block, ns, sum(ns) + 50))
        covered += covers(Timing("full", tuple(turns), floors=floors), 1.04)
    assert least <= covered / (RUNS // 4) <= most


SHORT: tuple[tuple[ArmName, int], ...] = (("eager", 5200), ("solution", 5000))


@pytest.mark.parametrize(("apart", "pooled", "widened"), [(0.0, 0.95, 0.95), (0.001, 0.88, 0.91), (0.003, 0.6, 0.72)])
def test_an_interval_over_three_processes_covers_their_differences_better(
    apart: float, pooled: float, widened: float
) -> None:
    """36 pairs of 0.3 % jitter; each process has an offset of its own. Where offsets are as large as the jitter three
    processes are too few for 95 %, widened or not; widened, the interval is at least that of three draws."""
    covered = [0, 0]
    for seed in range(1000):
        rng = random.Random(seed)
        found = [offset + rng.gauss(1, 0.003) for offset in (rng.gauss(0, apart) for _ in range(3)) for _ in range(12)]
        for number, fresh_at in enumerate(((), (12, 24))):
            interval = pairs(found, [1.0] * 36, fresh_at)
            assert interval is not None
            covered[number] += interval.low <= 1 <= interval.high
    assert covered[0] <= covered[1]
    assert covered[0] >= 1000 * pooled
    assert covered[1] >= 1000 * widened


@pytest.mark.parametrize(
    ("all_may_be_off", "odds", "apart", "errors"),
    [
        (False, 1.0, 0.0, (0.0048, 0.0020, 0.0002)),
        (True, 0.1, 0.0003, (0.0016, 0.0012, 0.0010)),
        (True, 0.0, 0.003, (0.0026, 0.0019, 0.0022)),
    ],
    ids=["the noisy one is off", "one in ten is off", "all differ"],
)
def test_the_median_of_the_processes_medians_is_little_misled_by_one_that_is_off(
    all_may_be_off: bool, odds: float, apart: float, errors: tuple[float, float, float]
) -> None:
    """Two processes of 6 pairs that scatter by 0.05 % and one of 60 by 0.5 %; what is off is off by 0.6 %. The errors
    are those of the median of all pairs, of the mean of the processes' medians, and of their median, the estimate."""
    squares = [0.0, 0.0, 0.0]
    for seed in range(1000):
        rng = random.Random(seed)
        parts = []
        for count, scatter, is_noisy in ((6, 0.0005, False), (6, 0.0005, False), (60, 0.005, True)):
            may_be_off = all_may_be_off or is_noisy
            offset = rng.gauss(0, apart) + (0.006 if may_be_off and rng.random() < odds else 0)
            parts.append([offset + rng.gauss(0, scatter) for _ in range(count)])
        found = pairs([math.exp(value) for part in parts for value in part], [1.0] * 72, fresh_at=(6, 12))
        assert found is not None
        medians = [median(part) for part in parts]
        every = median([value for part in parts for value in part])
        for number, value in enumerate((every, sum(medians) / 3, math.log(found.estimate))):
            squares[number] += value**2 / 1000
    assert [math.sqrt(square) for square in squares] == pytest.approx(errors, abs=6e-5)


@pytest.mark.parametrize(("processes", "least"), [(1, 0.93), (3, 0.96), (5, 0.96)])
def test_printed_intervals_cover_what_workers_differ_by(processes: int, least: float) -> None:
    """Not the scatter alone: in each process both workers are off, by as much as is allowed for."""
    held = 0
    for seed in range(RUNS):
        rng = random.Random(seed)
        eager, solution = [], []
        for _ in range(processes):
            own = rng.gauss(1, USUAL), rng.gauss(1, USUAL)
            for _ in range(12):
                eager.append(2e7 * own[0] * rng.gauss(1, 0.002))
                solution.append(1e7 * own[1] * rng.gauss(1, 0.002))
        interval = paired_ratio(eager, solution, range(12, 12 * processes, 12))
        assert interval is not None
        held += interval.low <= 2 <= interval.high
    assert held >= least * RUNS
