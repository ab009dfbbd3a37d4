"""The board: which evaluation stands for each solution, and its rank. Pure; made from the index's rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from operator import attrgetter

from harness.model.arms import Baseline
from harness.model.ranking import leading_metric, rank_among
from harness.model.statistics import Interval
from harness.model.verdict import Verdict
from harness.reports.leaderboard.rules import (
    PRECISION_CLASSES,
    BoardConditions,
    Candidate,
    PrecisionClass,
    Wanted,
    chosen,
    class_of,
    configs,
    environments,
    is_comparable,
    why_unranked,
)
from harness.store.entry import Entry, Tally


@dataclass(frozen=True)
class Standing:
    """One solution: by the newest evaluation that keeps the rules, of a source that isn't known to fail. Else
    by its newest, with the rule that it breaks."""

    entry: Entry
    precision_class: PrecisionClass
    rank: int | None
    """The rank within the problem and the class; equal ranks are ties. None: not ranked."""
    why_unranked: str | None
    evaluations: int
    """The journal has so many of this solution under the same problem, environment and config."""
    is_older_source: bool
    """The solution has been edited since; what is shown is its former source."""
    is_comparable: bool
    """True where it has the board's environment, config and valid version of the problem, and is meant to pass."""

    @property
    def is_sample(self) -> bool:
        """True where it counts in fast_p and in the verdicts: judged under the board's rules, and meant to pass."""
        return self.rank is not None or (self.is_comparable and self.entry.verdict.blames_solution)


@dataclass(frozen=True)
class ProblemBoard(BoardConditions):
    """The solutions of one problem: by class, then fastest first, what isn't ranked last."""

    name: str
    precision: str
    standings: tuple[Standing, ...]
    has_newer_version: bool
    """A newer version of the problem has results, in another environment alone."""


@dataclass(frozen=True)
class Board:
    """Everything that a leaderboard shows, but for the texts and samples of the evaluations."""

    environment: Candidate
    other_environments: tuple[Candidate, ...]
    config: Candidate
    other_configs: tuple[Candidate, ...]
    baseline: Baseline | None
    problems: tuple[ProblemBoard, ...]

    @property
    def standings(self) -> tuple[Standing, ...]:
        return tuple(standing for problem in self.problems for standing in problem.standings)


def make_board(
    tallies: Sequence[Tally],
    entries: Sequence[Entry],
    wanted: Wanted,
    problems: Sequence[str] | None = None,
) -> Board:
    """The board of what `tallies`, one at least, count; `problems` limits what is shown, not what the choices rest on.

    `entries` are the evaluations to decide by, oldest first: all that there are, or those that Index.newest() leaves.

    Raises: UsageError: `wanted` names an environment or a config that has no results.
    """
    places = environments(tallies)
    place = chosen("environment", places, wanted.environment)
    settings = configs(t for t in tallies if t.environment == place.key)
    config = chosen("config", settings, wanted.config)
    here = (e for e in reversed(entries) if (e.environment, e.config) == (place.key, config.key))
    counts = Counter[tuple[str, str, str]]()
    for tally in (t for t in tallies if (t.environment, t.config) == (place.key, config.key)):
        counts[tally.problem, tally.problem_sha256, tally.solution] += tally.evaluations
    boards = [
        _problem_board(name, list(group), place.key, config.key, counts)
        for name, group in groupby(sorted(entries, key=attrgetter("problem")), key=attrgetter("problem"))
        if problems is None or name in problems
    ]
    return Board(
        environment=place,
        other_environments=tuple(c for c in places if c is not place),
        config=config,
        other_configs=tuple(c for c in settings if c is not config),
        baseline=next((e.baseline for e in here if e.baseline), None),
        problems=tuple(_of_class(board, wanted.precision) for board in boards),
    )


def measurements(problem: ProblemBoard, entries: Iterable[Entry]) -> list[Entry]:
    """Entries that were measured under the board's rules for the problem."""
    ours = (e for e in entries if e.problem == problem.name and is_comparable(e, problem))
    return [e for e in ours if e.speedup is not None and e.metric == problem.metric]


def ranked_speedups(standings: Iterable[Standing]) -> list[Interval]:
    """The speed-ups of those that are ranked."""
    return [one.entry.speedup for one in standings if one.rank is not None and one.entry.speedup]


def _problem_board(
    name: str, entries: Sequence[Entry], environment: str, config: str, counts: Mapping[tuple[str, str, str], int]
) -> ProblemBoard:
    """`entries`: of the problem, oldest first. `counts`: evaluations under the board's environment and config, by
    problem, version of the problem, and solution."""
    newest = entries[-1]
    here = [e for e in entries if e.environment == environment]
    version = (here or [newest])[-1]
    sha256 = version.problem_sha256
    of_version = [e for e in entries if e.problem_sha256 == sha256]
    ran = [e for e in of_version if e.verdict.passed]  # only then is the precision known
    asked_for = {e.cases for e in of_version}
    cases = tuple(sorted({case for some in asked_for for case in some}, key=lambda case: (case != "full", case)))
    comparable = [e for e in of_version if (e.environment, e.config) == (environment, config)]
    is_invalid = Verdict.INVALID_PROBLEM in {e.solution: e.verdict for e in comparable}.values()
    metric = leading_metric(e.metric for e in comparable)
    conditions = BoardConditions(environment, config, sha256, cases, metric, is_invalid)
    standings = [
        _standing(list(group), conditions, counts.get((name, sha256, solution), 0))
        for solution, group in groupby(sorted(entries, key=attrgetter("solution")), key=attrgetter("solution"))
    ]
    return ProblemBoard(
        **vars(conditions),
        name=name,
        precision=(ran or [version])[-1].problem_precision,
        standings=tuple(_ranked(standings)),
        has_newer_version=newest.problem_sha256 != sha256,
    )


def _standing(entries: Sequence[Entry], conditions: BoardConditions, evaluations: int) -> Standing:
    """The standing by one solution's evaluations, oldest first. Ranks come later."""
    comparable = [e for e in entries if is_comparable(e, conditions)]
    best = _best(comparable, conditions)
    shown = best or (comparable or [e for e in entries if e.environment == conditions.environment] or entries)[-1]
    reason = None if best else why_unranked(shown, conditions)
    return Standing(
        entry=shown,
        precision_class=class_of(shown),
        rank=None,
        why_unranked=reason,
        evaluations=evaluations,
        is_older_source=shown.solution_sha256 != entries[-1].solution_sha256,
        is_comparable=bool(comparable) and shown.expected_verdict.passed and not conditions.is_invalid,
    )


def _best(comparable: Sequence[Entry], conditions: BoardConditions) -> Entry | None:
    """The newest that keeps the rules, of a source whose newest judgement is that it passed.

    Not the fastest, neither of one source nor of several: that would be the luckiest. Of twenty evaluations that differ
    by 0.3 % the fastest is 0.56 % too fast, and whoever measures more often, or on more GPUs, would be ahead.
    """
    judged = (e for e in comparable if e.verdict.passed or e.verdict.blames_solution)
    newest_judgement = {e.solution_sha256: e.verdict for e in judged}
    ranked = (e for e in reversed(comparable) if why_unranked(e, conditions) is None)
    return next((e for e in ranked if newest_judgement[e.solution_sha256].passed), None)


def _ranked(standings: Iterable[Standing]) -> list[Standing]:
    """The standings in the board's order, with ranks: one more than the number of solutions of the class whose whole
    interval lies above the solution's own."""
    ranked: list[Standing] = []
    for _, group in groupby(sorted(standings, key=_order), key=attrgetter("precision_class")):
        of_class = [(one, one.entry.speedup if one.why_unranked is None else None) for one in group]
        lows = sorted(own.low for _, own in of_class if own)
        ranked += [replace(one, rank=rank_among(own, lows)) for one, own in of_class]
    return ranked


def _order(standing: Standing) -> tuple[int, bool, bool, float, str]:
    entry = standing.entry
    return (
        PRECISION_CLASSES.index(standing.precision_class),
        standing.why_unranked is not None,
        not entry.verdict.passed,
        -entry.estimate,
        entry.solution,
    )


def _of_class(board: ProblemBoard, wanted: PrecisionClass | None) -> ProblemBoard:
    if wanted is None:
        return board
    return replace(board, standings=tuple(s for s in board.standings if s.precision_class == wanted))
