"""Who is ahead of whom, and how far a whole set has come."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from harness.records.evaluation import Evaluation
from harness.records.statistics import Interval, geometric_mean
from harness.records.verdict import Verdict

FAST_P = (0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 3.0, 5.0, 10.0)
"""Thresholds of the fast_p curve."""


@dataclass(frozen=True)
class Ranked:
    """`rank` is None for what isn't ranked: not passed, or not timed. Equal ranks are ties."""

    rank: int | None
    evaluation: Evaluation


def rank(evaluations: Iterable[Evaluation]) -> list[Ranked]:
    """Fastest first, for evaluations of one problem in one environment.

    A rank is one more than the number of solutions whose whole interval lies above the solution's own: where
    intervals overlap, neither is ahead.
    """
    ordered = sorted(evaluations, key=_fastest_first)
    lows = sorted(interval.low for e in ordered if (interval := speedup_of(e)))
    return [Ranked(rank_among(speedup_of(e), lows), e) for e in ordered]


def rank_among(own: Interval | None, lows: Sequence[float]) -> int | None:
    """The rank of an interval among those whose lower bounds are given, in ascending order."""
    return None if own is None else 1 + len(lows) - bisect_right(lows, own.high)


def speedup_of(evaluation: Evaluation) -> Interval | None:
    """The headline speed-up of what passed and was timed."""
    return evaluation.timing.speedup if evaluation.timing else None


@dataclass(frozen=True)
class FastP:
    """KernelBench's fast_p: the share of all samples that are correct and faster than p times the baseline.

    Source: A. Ouyang et al., KernelBench: Can LLMs Write Efficient GPU Kernels?, 2025, section 3.3.
    """

    p: float
    faster: int
    of: int

    @property
    def share(self) -> float:
        return self.faster / self.of


def fast_p(evaluations: Sequence[Evaluation], thresholds: Sequence[float] = FAST_P) -> tuple[FastP, ...]:
    """The curve over these evaluations, each a sample; failures count in the denominator.

    Evaluations that blame nobody's solution (`unsupported`, `invalid_problem`, `harness_error`), and passed ones
    that weren't timed, are no samples.
    """
    samples = [e for e in evaluations if e.verdict.blames_solution or speedup_of(e)]
    speedups = [interval.estimate for e in samples if (interval := speedup_of(e))]
    return tuple(FastP(p, sum(s > p for s in speedups), len(samples)) for p in thresholds) if samples else ()


@dataclass(frozen=True)
class Summary:
    """A set of evaluations in a few numbers. `mean_speedup` is over the `timed` ones of `evaluated`."""

    evaluated: int
    timed: int
    mean_speedup: Interval | None
    fast_p: tuple[FastP, ...]
    verdicts: tuple[tuple[Verdict, int], ...]
    """Most frequent first."""


def summarise(evaluations: Sequence[Evaluation]) -> Summary:
    """Counts per verdict, the mean speed-up of those that were timed, and the fast_p curve."""
    speedups = [interval for e in evaluations if (interval := speedup_of(e))]
    counts = Counter(e.verdict for e in evaluations)
    return Summary(
        evaluated=len(evaluations),
        timed=len(speedups),
        mean_speedup=geometric_mean(speedups) if speedups else None,
        fast_p=fast_p(evaluations),
        verdicts=tuple(counts.most_common()),
    )


def best_per_problem(evaluations: Iterable[Evaluation]) -> list[Evaluation]:
    """Of each problem the passed evaluation of the highest speed-up, in the order of the problems' names."""
    best: dict[str, Evaluation] = {}
    for evaluation in sorted(evaluations, key=_fastest_first):
        if evaluation.verdict.passed:
            best.setdefault(evaluation.problem.name, evaluation)
    return [best[name] for name in sorted(best)]


def _fastest_first(evaluation: Evaluation) -> tuple[bool, float, str]:
    speedup = speedup_of(evaluation)
    return (not evaluation.verdict.passed, -speedup.estimate if speedup else 0.0, evaluation.solution.name)
