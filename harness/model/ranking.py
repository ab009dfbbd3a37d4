"""The order of solutions, and the standing of a whole set."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from harness.model.arms import METRICS, Metric
from harness.model.evaluation import Evaluation
from harness.model.statistics import Interval, geometric_mean
from harness.model.verdict import Verdict

FAST_P = (0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 3.0, 5.0, 10.0)
"""Thresholds of the fast_p curve."""


@dataclass(frozen=True)
class Ranked:
    """An evaluation with its rank. `rank` is None for what isn't ranked: not passed, not timed, of a problem that can't
    tell, or measured by another metric than those that are. Equal ranks are ties."""

    rank: int | None
    evaluation: Evaluation
    other_metric: str | None = None
    """The other metric, in words."""


def rank(evaluations: Iterable[Evaluation]) -> list[Ranked]:
    """Rank evaluations of one problem in one environment, the fastest first.

    A rank is one more than the number of solutions whose whole interval lies above the solution's own: where
    intervals overlap, neither is ahead. No two metrics are ranked together, see leading_metric().
    """
    ordered = sorted(evaluations, key=_fastest_first)
    invalid = invalid_problems(ordered)
    leading = leading_metric(e.metric for e in ordered)
    others = [other_metric(e.metric, leading) for e in ordered]
    speedups = [None if e.problem.name in invalid else e.speedup for e in ordered]
    lows = sorted(own.low for own, other in zip(speedups, others, strict=True) if own and not other)
    ranked = [
        Ranked(None if other else rank_among(own, lows), e, other)
        for e, own, other in zip(ordered, speedups, others, strict=True)
    ]
    return sorted(ranked, key=lambda one: (not one.evaluation.verdict.passed, one.other_metric is not None))


def leading_metric(metrics: Iterable[Metric | None]) -> Metric | None:
    """Return the metric of a problem's headlines by which solutions are ranked: gpu_cold where anything was measured
    so.

    Where it isn't, the reference itself waits for the device, and all are held against each other end to end. It is
    None where nothing was measured.
    """
    found = set(metrics)
    return next((metric for metric in METRICS if metric in found), None)


def other_metric(metric: Metric | None, leading: Metric | None) -> str | None:
    """Say why a headline isn't ranked among those of the leading metric; None where it is. A ratio of host overheads
    has no rank among kernels: one `.item()` would lift a solution over the clock's floor."""
    if metric is None or metric == leading:
        return None
    if metric == "end_to_end":
        return "measured end to end: it waits for the device itself"
    return f"measured as {metric}, others as {leading}"


def rank_among(own: Interval | None, lows: Sequence[float]) -> int | None:
    """The rank of an interval among those whose lower bounds are given, in ascending order."""
    return None if own is None else 1 + len(lows) - bisect_right(lows, own.high)


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


def fast_p(speedups: Sequence[Interval], samples: int) -> tuple[FastP, ...]:
    """The curve over so many samples, of which some have a speed-up; empty without samples."""
    return tuple(FastP(p, sum(one.estimate > p for one in speedups), samples) for p in FAST_P if samples)


@dataclass(frozen=True)
class Summary:
    """A set of evaluations in a few numbers. `mean_speedup` is over the `timed` ones of `evaluated`.

    Both it and `fast_p` are of gpu_cold headlines, see of_totals(); `left_out` are the problems that have none,
    `invalid` those of which an evaluation says that they can't tell: all of their evaluations are in neither. Failures
    count in the denominator of `fast_p`. What blames nobody's solution (`unsupported`, `invalid_problem`,
    `harness_error`), and what passed and wasn't timed, is no sample.
    """

    evaluated: int
    timed: int
    mean_speedup: Interval | None
    fast_p: tuple[FastP, ...]
    verdicts: tuple[tuple[Verdict, int], ...]
    """The verdicts, the most frequent first."""
    left_out: tuple[str, ...] = ()
    invalid: tuple[str, ...] = ()


def summarise(evaluations: Sequence[Evaluation]) -> Summary:
    """Return counts per verdict, the mean speed-up of those that were timed, and the fast_p curve."""
    counted, left_out = of_totals(evaluations)
    speedups = [e.speedup for e in counted if e.speedup]
    counts = Counter(e.verdict for e in evaluations)
    return Summary(
        evaluated=len(evaluations),
        timed=len(speedups),
        mean_speedup=geometric_mean(speedups) if speedups else None,
        fast_p=fast_p(speedups, len(speedups) + sum(e.verdict.blames_solution for e in counted)),
        verdicts=tuple(counts.most_common()),
        left_out=left_out,
        invalid=invalid_problems(evaluations),
    )


def invalid_problems(evaluations: Iterable[Evaluation]) -> tuple[str, ...]:
    """The names of those by which nobody can be judged, as some evaluation says."""
    return tuple(sorted({e.problem.name for e in evaluations if e.verdict is Verdict.INVALID_PROBLEM}))


def of_totals(evaluations: Iterable[Evaluation]) -> tuple[list[Evaluation], tuple[str, ...]]:
    """Return the evaluations that means and shares are over: headlines by gpu_cold, and what wasn't timed. A problem
    that was measured by another metric alone is left out whole, failures included; those are named. So is one that
    can't tell."""
    problems: dict[tuple[str, str], list[Evaluation]] = {}
    evaluations = list(evaluations)
    invalid = invalid_problems(evaluations)
    for evaluation in (one for one in evaluations if one.problem.name not in invalid):
        problems.setdefault((evaluation.problem.name, evaluation.problem.sha256), []).append(evaluation)
    kept: list[Evaluation] = []
    left_out: set[str] = set()
    for (name, _), own in problems.items():
        if leading_metric(e.metric for e in own) in (None, "gpu_cold"):
            kept += [e for e in own if e.metric in (None, "gpu_cold")]
        else:
            left_out.add(name)
    return kept, tuple(sorted(left_out))


def best_per_problem(evaluations: Iterable[Evaluation]) -> list[Evaluation]:
    """Return each problem's passed evaluation of the highest speed-up among those that of_totals() keeps, in the order
    of the problems' names."""
    best: dict[str, Evaluation] = {}
    for evaluation in sorted(of_totals(evaluations)[0], key=_fastest_first):
        if evaluation.verdict.passed:
            best.setdefault(evaluation.problem.name, evaluation)
    return [best[name] for name in sorted(best)]


def _fastest_first(evaluation: Evaluation) -> tuple[bool, float, str]:
    estimate = evaluation.speedup.estimate if evaluation.speedup else 0.0
    return (not evaluation.verdict.passed, -estimate, evaluation.solution.name)
