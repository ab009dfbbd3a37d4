"""The whole board in a few numbers: per class of precision, with numerators and denominators."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from harness.records.ranking import FAST_P, FastP
from harness.records.statistics import Interval, geometric_mean
from harness.records.verdict import Verdict
from harness.reports.leaderboard.board import Board, ProblemBoard, Standing
from harness.reports.leaderboard.rules import PRECISION_CLASSES, PrecisionClass


@dataclass(frozen=True)
class ClassTotal:
    """One class of precision. The mean is that of the best solution of each of `measured` out of `problems`.

    All is of gpu_cold headlines: no two metrics are mixed.
    """

    precision_class: PrecisionClass
    problems: int
    measured: int
    mean_of_best: Interval | None
    of_all: tuple[FastP, ...]
    """fast_p, each solution a sample."""
    of_best: tuple[FastP, ...]
    """fast_p, each problem's best solution a sample: KernelBench's own, which has one sample per problem."""
    left_out: tuple[str, ...]
    """Names of problems that were measured by another metric, and are in none of these numbers."""
    invalid: tuple[str, ...] = ()
    """Names of problems by which nobody can be judged, and which are in none of these numbers either."""


def totals(board: Board) -> tuple[ClassTotal, ...]:
    """A total for each class that has samples, or problems that were left out."""
    found = [_total(board, name) for name in PRECISION_CLASSES]
    return tuple(total for total in found if total.of_all or total.left_out or total.invalid)


def verdict_counts(standings: Sequence[Standing]) -> tuple[tuple[Verdict, tuple[Standing, ...]], ...]:
    """The failures, most frequent first, each with the solutions that ended so."""
    failures = [s for s in standings if not s.entry.verdict.passed and s.is_comparable]
    counts = Counter(s.entry.verdict for s in failures).most_common()
    return tuple((verdict, tuple(s for s in failures if s.entry.verdict is verdict)) for verdict, _ in counts)


def _total(board: Board, name: PrecisionClass) -> ClassTotal:
    per_problem = [(p, [s for s in p.standings if s.precision_class == name and s.is_sample]) for p in board.problems]
    tried = [samples for p, samples in per_problem if samples and not _is_left_out(p)]
    best = [samples[0] for samples in tried]  # standings come fastest first
    speedups = [s.speedup for s in best if s.rank is not None and s.speedup]
    return ClassTotal(
        precision_class=name,
        problems=len(tried),
        measured=len(speedups),
        mean_of_best=geometric_mean(speedups) if speedups else None,
        of_all=_fast_p([s for samples in tried for s in samples]),
        of_best=_fast_p(best),
        left_out=tuple(p.name for p, samples in per_problem if samples and _is_left_out(p)),
        invalid=tuple(p.name for p in board.problems if p.is_invalid and _has_class(p, name)),
    )


def _has_class(problem: ProblemBoard, name: PrecisionClass) -> bool:
    return any(standing.precision_class == name for standing in problem.standings)


def _is_left_out(problem: ProblemBoard) -> bool:
    return problem.metric not in (None, "gpu_cold")


def _fast_p(samples: Sequence[Standing]) -> tuple[FastP, ...]:
    speedups = [s.speedup.estimate for s in samples if s.rank is not None and s.speedup]
    return tuple(FastP(p, sum(s > p for s in speedups), len(samples)) for p in FAST_P) if samples else ()
