"""Intervals hold what they promise: under each kind of noise 93 to 97 % of five hundred scripted measurements cover the
true speed-up, before they are widened by what workers differ by. (Twelve blocks promise 96.1 %, forty 96.2 %.)"""

from __future__ import annotations

import random

import pytest

from harness.model.arms import ArmName, Metric
from harness.model.config import TimingConfig
from harness.model.timing import Turn
from harness.referee.timing.measure import looks, measure
from harness.referee.timing.series import Series, joined
from tests.coverage import covers
from tests.machine import heavy
from tests.referee.timing.test_measure import ScriptedArms
from tests.scripts import script

TRUE_SPEEDUP = 1.25
TRIALS = 500
SAMPLING_ERROR = 0.009
"""Of a share of 96 %, one standard deviation."""


class NoisyArms(ScriptedArms):
    """Calls of 1 and 0.8 ms on a GPU whose clock goes on while they run: some jitter, and one kind of noise."""

    def __init__(self, noise: str, rng: random.Random, jitter: float = 0.003) -> None:
        super().__init__()
        self._noise = noise
        self._rng = rng
        self._jitter = jitter
        self._now_s = 0.0
        self._correlated = 0.0
        self._slow_calls = 0
        self._step_at_s = rng.uniform(0, 0.2)
        self._drift = rng.choice((-0.05, 0.05))

    def turn(self, arm: ArmName, calls: int, metric: Metric | None = None) -> Turn:
        times = [int((1e6 / TRUE_SPEEDUP if arm == "solution" else 1e6) * self._slowness()) for _ in range(calls)]
        self._now_s += sum(times) / 1e9
        return Turn(arm, 0, tuple(times), sum(times) + 1000)

    def _slowness(self) -> float:
        jitter = self._rng.gauss(0, self._jitter)
        if self._noise == "correlation":
            self._correlated = 0.5 * self._correlated + jitter
            return 1 + self._correlated
        if self._noise == "slow wandering":
            self._correlated = 0.95 * self._correlated + jitter
            return 1 + self._correlated
        if self._noise == "drift":  # 1 % in 0.2 s
            return 1 + jitter + self._drift * self._now_s
        if self._noise == "clock step":
            return 1 + jitter + (0.04 if self._now_s > self._step_at_s else 0)
        if self._noise == "bursts":
            if self._slow_calls == 0 and self._rng.random() < 0.02:
                self._slow_calls = self._rng.randint(3, 12)
            self._slow_calls = max(0, self._slow_calls - 1)
            return 1 + jitter + (0.05 if self._slow_calls else 0)
        return 1 + jitter


NOISES = ("jitter", "drift", "clock step", "bursts", "correlation", "slow wandering")


@pytest.mark.parametrize(
    ("noise", "blocks"), [*((noise, 12) for noise in NOISES), heavy("drift", 40), heavy("correlation", 40)]
)
def test_intervals_cover_the_truth_as_often_as_they_say(noise: str, blocks: int) -> None:
    config = TimingConfig(blocks=blocks, calls_per_turn=5, budget_s=1e9, precision=None)
    covered = 0
    for seed in range(TRIALS):
        rng = random.Random(seed)
        timing = measure(NoisyArms(noise, rng), config, rng, 5, Series(config, lambda: 0.0))
        covered += covers(timing, TRUE_SPEEDUP)
    assert 0.93 - SAMPLING_ERROR <= covered / TRIALS <= 0.97 + SAMPLING_ERROR


@pytest.mark.parametrize("noise", ["jitter", "drift", "bursts", heavy("slow wandering")])
def test_ending_when_it_is_precise_enough_costs_no_coverage(noise: str) -> None:
    config = TimingConfig(blocks=60, calls_per_turn=5, budget_s=1e9, precision=0.004)
    covered, blocks = 0, []
    for seed in range(TRIALS):
        rng = random.Random(seed)
        timing = measure(NoisyArms(noise, rng), config, rng, 5, Series(config, lambda: 0.0))
        covered += covers(timing, TRUE_SPEEDUP)
        blocks.append(len({turn.block for turn in timing.turns}))
    assert 6 <= min(blocks) < max(blocks)
    assert 0.93 - SAMPLING_ERROR <= covered / TRIALS <= 0.97 + SAMPLING_ERROR


@pytest.mark.parametrize(("precision", "most"), [(0.0025, 100), (0.01, 24), (0.01, 100)])
def test_looking_at_stages_keeps_the_coverage_whatever_the_scatter(precision: float, most: int) -> None:
    """Looking after each block it is 92 to 94 % where the scatter is about as large as the precision."""
    of = script("stopping")
    trials, scatters = 1000, (0.9, 1.2, 1.6, 2.2)
    covered = [of.coverage(scatter, precision, most, looks(most), trials)[0] for scatter in scatters]
    assert sum(covered) / len(covered) >= 0.945 - SAMPLING_ERROR / 2
    assert min(covered) >= 0.945 - 2 * SAMPLING_ERROR


def test_looking_after_each_block_would_lose_coverage() -> None:
    """The measure of the measure."""
    of = script("stopping")
    covered = [of.coverage(scatter, 0.0025, 100, range(6, 101), 500)[0] for scatter in (0.9, 1.2, 1.6, 2.2)]
    assert sum(covered) / len(covered) < 0.94


@pytest.mark.parametrize(("jitter", "least"), [(0.002, 1.0), (0.004, 0.97), heavy(0.008, 0.9)])
def test_three_processes_reach_the_precision_that_was_asked_for(jitter: float, least: float) -> None:
    """Where each stopped at √3 times what the precision leaves for scatter, 78 % of the joined intervals were within it
    at 0.4 % of jitter, and 37 % at 0.8 %: they hold each process's median, and those were too uncertain."""
    config = TimingConfig(blocks=100, calls_per_turn=5, budget_s=1e9, precision=0.0025, processes=3, control=False)
    within, covered, trials = 0, 0, 60
    for seed in range(trials):
        rng = random.Random(seed)
        series = Series(config, lambda: 0.0)
        while not series.is_complete:
            series.add(measure(NoisyArms("jitter", rng, jitter), config, rng, 5, series))
        timing = joined(series.parts)
        assert timing.speedup is not None
        within += timing.speedup.half_width <= 0.0025
        covered += covers(timing, TRUE_SPEEDUP)
    assert within >= least * trials
    assert covered >= 0.9 * trials


def test_a_lopsided_order_would_not_cover_it() -> None:
    """The measure of the measure: without A B B A a clock step is taken for a speed-up."""
    covered = 0
    for seed in range(200):
        rng = random.Random(seed)
        arms = NoisyArms("clock step", rng)
        eager = [ns for _ in range(24) for ns in arms.turn("eager", 5).call_ns]
        solution = [ns for _ in range(24) for ns in arms.turn("solution", 5).call_ns]
        ratio = sorted(eager)[len(eager) // 2] / sorted(solution)[len(solution) // 2]
        covered += abs(ratio / TRUE_SPEEDUP - 1) < 0.002
    assert covered / 200 < 0.5
