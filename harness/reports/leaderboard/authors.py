"""Authors beside each other, level by level, as KernelBench shows models: who is right how often, and how fast."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from harness.model.kernelbench import pass_at_k
from harness.model.ranking import FastP, fast_p
from harness.model.statistics import Interval, geometric_mean
from harness.reports.leaderboard.board import Board, Standing, ranked_speedups
from harness.reports.untrusted import one_line, shortened

PASS_AT = (1, 5)
_LEVEL = re.compile(r"(?:level|l)(\d)_(?=\d)")
_LONGEST_NAME = 60
_NOBODY = "no author"


@dataclass(frozen=True)
class AuthorTotal:
    """The samples of one author on one level; `level` is None for all of them together.

    `fast_p` has each sample in its denominator, whatever its class of precision. `pass_at_k` is the mean over the
    problems that have k samples (Chen et al. 2021, arXiv:2107.03374); None where none has.
    """

    author: str
    level: int | None
    problems: int
    samples: int
    passed: int
    pass_at_k: dict[int, float | None]
    fast_p: tuple[FastP, ...]
    mean: Interval | None
    """The geometric mean of the speed-ups of what is ranked."""

    def share_above(self, p: float) -> float:
        return next(point.share for point in self.fast_p if point.p == p)


def authors(board: Board) -> tuple[AuthorTotal, ...]:
    """Every author's total, then each one's levels where problems have several; empty where nobody is named."""
    groups: dict[tuple[str, int | None], list[Standing]] = defaultdict(list)
    for standing in board.standings:
        if standing.is_sample:
            author = standing.entry.author or _NOBODY
            groups[author, None].append(standing)
            if level := _LEVEL.match(standing.entry.problem):
                groups[author, int(level[1])].append(standing)
    levels = {level for _, level in groups if level is not None}
    if {author for author, _ in groups} <= {_NOBODY}:
        return ()
    found = [_total(*key, group) for key, group in groups.items() if key[1] is None or len(levels) > 1]
    return tuple(sorted(found, key=lambda one: (one.level or 0, -one.share_above(1), -one.passed, one.author)))


def _total(author: str, level: int | None, samples: Sequence[Standing]) -> AuthorTotal:
    by_problem: dict[str, list[bool]] = defaultdict(list)
    for one in samples:
        by_problem[one.entry.problem].append(one.entry.verdict.passed)
    counts = [(len(each), sum(each)) for each in by_problem.values()]
    chances = {k: [pass_at_k(n, right, k) for n, right in counts if n >= k] for k in PASS_AT}
    speedups = ranked_speedups(samples)
    return AuthorTotal(
        author=one_line(shortened(author, _LONGEST_NAME)),
        level=level,
        problems=len(by_problem),
        samples=len(samples),
        passed=sum(one.entry.verdict.passed for one in samples),
        pass_at_k={k: fmean(chances[k]) if chances[k] else None for k in PASS_AT},
        fast_p=fast_p(speedups, len(samples)),
        mean=geometric_mean(speedups) if speedups else None,
    )
