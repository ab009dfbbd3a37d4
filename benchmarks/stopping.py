"""A test whether measuring until the interval is narrow costs coverage, and whether three processes are precise enough.

Simulated, with the harness's own statistics and its own rule for when measuring ends: needs no GPU. Blocks' ratios are
normally distributed; coverage is that of the interval before it is widened by what workers differ by.

    python benchmarks/stopping.py --trials 4000 --runs 200
"""

from __future__ import annotations

import argparse
import math
import random
from collections.abc import Sequence

from harness.model.arms import ArmName, Metric
from harness.model.config import TimingConfig
from harness.model.statistics import LEAST_BLOCKS, Interval, pairs
from harness.model.timing import Timing, Turn
from harness.referee.timing.measure import looks, measure
from harness.referee.timing.series import Series, joined

SCATTERS = (0.3, 0.6, 0.9, 1.2, 1.6, 2.2, 3.0)
"""Standard deviations of blocks' ratios, in units of the precision."""
UNTIL = ((0.0025, 1000), (0.01, 24), (0.01, 100))
"""A precision, and at most how many blocks."""
PROCESSES = ((0.002, 0.0), (0.004, 0.0), (0.008, 0.0), (0.002, 0.0005), (0.002, 0.0015))
"""The jitter of a call, and by how much processes differ: standard deviations."""
_MS = 1e6
"""A millisecond in ns."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=4000, help="measurements for each scatter")
    parser.add_argument("--runs", type=int, default=200, help="of three processes, for each jitter")
    options = parser.parse_args()
    for precision, most in UNTIL:
        for name, look_at in (("at stages", looks(most)), ("after each block", range(LEAST_BLOCKS, most + 1))):
            print(f"±{100 * precision:g} %, at most {most} blocks, looking {name}")
            for scatter in SCATTERS:
                covered, blocks = coverage(scatter, precision, most, look_at, options.trials)
                print(f"  scatter {scatter:.1f}: {100 * covered:5.1f} % covered, {blocks:5.1f} blocks", flush=True)
    print("three processes, ±0.25 %, at most 1000 blocks each")
    for jitter, apart in PROCESSES:
        within, covered, blocks = three_processes(jitter, apart, options.runs)
        print(
            f"  jitter {100 * jitter:g} %, differing by {100 * apart:g} %: {blocks:.0f} blocks, "
            f"{100 * within:.0f} % within, {100 * covered:.0f} % covered",
            flush=True,
        )


def coverage(scatter: float, precision: float, most: int, look_at: Sequence[int], trials: int) -> tuple[float, float]:
    """The share of measurements whose interval covers the truth, and the mean number of blocks."""
    rng = random.Random(f"{scatter} {precision} {most}")
    covered, blocks = 0, 0
    for _ in range(trials):
        ratios = [math.exp(rng.gauss(0, scatter * precision)) for _ in range(most)]
        taken, found = _measured_until(ratios, precision, look_at)
        covered += _covers_one(pairs(found, [1.0] * taken))
        blocks += taken
    return covered / trials, blocks / trials


def _measured_until(ratios: Sequence[float], precision: float, look_at: Sequence[int]) -> tuple[int, Sequence[float]]:
    """Return how many blocks were measured, and their ratios."""
    for taken in (*(count for count in look_at if count < len(ratios)), len(ratios)):
        interval = pairs(ratios[:taken], [1.0] * taken)
        assert interval is not None
        if interval.half_width <= precision:
            break
    return taken, ratios[:taken]


def _covers_one(interval: Interval | None) -> bool:
    assert interval is not None
    return interval.low <= 1 <= interval.high


class Jittering:
    """Arms of 1 ms whose calls jitter, in processes that differ."""

    metric: Metric = "gpu_cold"

    def __init__(self, rng: random.Random, jitter: float, apart: float) -> None:
        self._rng = rng
        self._jitter = jitter
        self._solution_ns = _MS * math.exp(rng.gauss(0, apart))

    def is_late(self, turn: Turn) -> bool:
        return False

    @property
    def kernels(self) -> dict[ArmName, int]:
        return {}

    def warmed_up(self) -> None: ...

    def turn(self, arm: ArmName, calls: int, metric: Metric | None = None) -> Turn:
        ns = self._solution_ns if arm == "solution" else _MS
        times = tuple(int(ns * (1 + self._rng.gauss(0, self._jitter))) for _ in range(calls))
        return Turn(arm, 0, times, sum(times) + 1000)


def three_processes(jitter: float, apart: float, runs: int) -> tuple[float, float, float]:
    """The shares of runs that end within ±0.25 %, and that cover the truth; and the mean number of blocks in all."""
    config = TimingConfig(blocks=1000, calls_per_turn=5, budget_s=1e9, precision=0.0025, processes=3, control=False)
    within, covered, blocks = 0, 0, 0
    for seed in range(runs):
        timing = _in_processes(config, random.Random(f"{jitter} {apart} {seed}"), jitter, apart)
        interval = timing.speedup
        assert interval is not None
        within += interval.half_width <= 0.0025
        covered += _covers_one(pairs(timing.block_ns("eager"), timing.block_ns("solution"), timing.fresh_pairs))
        blocks += len(timing.block_ns("solution"))
    return within / runs, covered / runs, blocks / runs


def _in_processes(config: TimingConfig, rng: random.Random, jitter: float, apart: float) -> Timing:
    series = Series(config, lambda: 0.0)
    while not series.is_complete:
        series.add(measure(Jittering(rng, jitter, apart), config, rng, 5, series))
    return joined(series.parts)


if __name__ == "__main__":
    main()
