"""The board: which evaluation stands for each solution, and its rank. Pure; made from the index's rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from operator import attrgetter

from harness.records.entry import Entry
from harness.records.ranking import rank_among
from harness.records.statistics import Interval
from harness.records.timing import Baseline
from harness.reports.leaderboard.precision import PRECISION_CLASSES, PrecisionClass, class_of
from harness.reports.leaderboard.rules import Candidate, Wanted, chosen, configs, environments, why_unranked


@dataclass(frozen=True)
class Standing:
    """One solution: by its best evaluation that keeps the rules, else by its newest, with the rule that it breaks."""

    entry: Entry
    precision_class: PrecisionClass
    rank: int | None
    """Within the problem and the class. Equal ranks are ties. None: not ranked."""
    why_unranked: str | None
    evaluations: int
    """How many the journal has of this solution under the same problem, environment and config."""
    is_older_source: bool
    """The solution has been edited since; what is shown is its former source."""
    is_comparable: bool
    """Of the board's environment, config and version of the problem, and meant to pass."""

    @property
    def speedup(self) -> Interval | None:
        return speedup_of(self.entry)

    @property
    def is_sample(self) -> bool:
        """Counts in fast_p and in the verdicts: judged under the board's rules, and meant to pass."""
        return self.rank is not None or (self.is_comparable and self.entry.verdict.blames_solution)


@dataclass(frozen=True)
class ProblemBoard:
    """The solutions of one problem: by class, then fastest first, what isn't ranked last."""

    name: str
    sha256: str
    precision: str
    cases: tuple[str, ...]
    """All that any evaluation of this version of the problem was asked for."""
    standings: tuple[Standing, ...]
    history: tuple[Entry, ...]
    """Every measurement under the board's rules, oldest first."""
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


def make_board(entries: Sequence[Entry], wanted: Wanted, problems: Sequence[str] | None = None) -> Board:
    """The board of all `entries`, one at least; `problems` limits what is shown, not what the choices rest on.

    Raises: UsageError: `wanted` names an environment or a config that has no results.
    """
    places = environments(entries)
    place = chosen("environment", places, wanted.environment)
    settings = configs(e for e in entries if e.environment == place.key)
    config = chosen("config", settings, wanted.config)
    oldest_first = sorted(entries, key=attrgetter("problem", "started_at"))
    boards = [
        _problem_board(name, list(group), place.key, config.key)
        for name, group in groupby(oldest_first, key=attrgetter("problem"))
        if problems is None or name in problems
    ]
    baselines = [e.baseline for e in entries if (e.environment, e.config) == (place.key, config.key) and e.baseline]
    return Board(
        environment=place,
        other_environments=tuple(c for c in places if c is not place),
        config=config,
        other_configs=tuple(c for c in settings if c is not config),
        baseline=baselines[-1] if baselines else None,
        problems=tuple(_of_class(board, wanted.precision) for board in boards),
    )


def speedup_of(entry: Entry) -> Interval | None:
    """The headline speed-up with its 95 % interval; None where nothing was measured."""
    if entry.speedup is None or entry.speedup_low is None or entry.speedup_high is None:
        return None
    return Interval(entry.speedup, entry.speedup_low, entry.speedup_high, 0.95)


def _problem_board(name: str, entries: Sequence[Entry], environment: str, config: str) -> ProblemBoard:
    """`entries`: all of the problem, oldest first."""
    newest = entries[-1]
    here = [e for e in entries if e.environment == environment]
    version = (here or [newest])[-1]
    asked_for = {case for e in entries if e.problem_sha256 == version.problem_sha256 for case in e.cases}
    cases = tuple(sorted(asked_for, key=lambda case: (case != "full", case)))
    rules = (environment, config, version.problem_sha256, cases)
    by_solution = sorted(entries, key=attrgetter("solution"))
    standings = [_standing(list(group), *rules) for _, group in groupby(by_solution, key=attrgetter("solution"))]
    measured = [e for e in entries if e.speedup is not None and _is_comparable(e, *rules[:3])]
    return ProblemBoard(
        name=name,
        sha256=version.problem_sha256,
        precision=version.problem_precision,
        cases=cases,
        standings=tuple(_ranked(standings)),
        history=tuple(measured),
        has_newer_version=newest.problem_sha256 != version.problem_sha256,
    )


def _standing(entries: Sequence[Entry], environment: str, config: str, sha256: str, cases: Sequence[str]) -> Standing:
    """Of one solution's evaluations, oldest first. Ranks come later."""
    comparable = [e for e in entries if _is_comparable(e, environment, config, sha256)]
    newest_judgement = {e.solution_sha256: e.verdict for e in comparable if _is_judgement(e)}
    good = [
        e
        for e in comparable
        if why_unranked(e, environment, config, sha256, cases) is None and newest_judgement[e.solution_sha256].passed
    ]
    best = max(good, key=lambda e: e.speedup or 0.0, default=None)
    shown = best or (comparable or [e for e in entries if e.environment == environment] or entries)[-1]
    reason = None if best else why_unranked(shown, environment, config, sha256, cases)
    return Standing(
        entry=shown,
        precision_class=class_of(shown),
        rank=None,
        why_unranked=reason,
        evaluations=len(comparable),
        is_older_source=shown.solution_sha256 != entries[-1].solution_sha256,
        is_comparable=bool(comparable) and shown.expected_verdict.passed,
    )


def _is_judgement(entry: Entry) -> bool:
    return entry.verdict.passed or entry.verdict.blames_solution


def _is_comparable(entry: Entry, environment: str, config: str, sha256: str) -> bool:
    return (entry.environment, entry.config, entry.problem_sha256) == (environment, config, sha256)


def _ranked(standings: Iterable[Standing]) -> list[Standing]:
    """In the board's order, with ranks: one more than the number of solutions of the class whose whole interval lies
    above the solution's own."""
    ordered = sorted(standings, key=_order)
    lows = {
        name: sorted(i.low for s in ordered if (i := _ranked_by(s)) and s.precision_class == name)
        for name in PRECISION_CLASSES
    }
    return [replace(s, rank=rank_among(_ranked_by(s), lows[s.precision_class])) for s in ordered]


def _ranked_by(standing: Standing) -> Interval | None:
    return standing.speedup if standing.why_unranked is None else None


def _order(standing: Standing) -> tuple[int, bool, bool, float, str]:
    entry = standing.entry
    return (
        PRECISION_CLASSES.index(standing.precision_class),
        standing.why_unranked is not None,
        not entry.verdict.passed,
        -(entry.speedup or 0.0),
        entry.solution,
    )


def _of_class(board: ProblemBoard, wanted: PrecisionClass | None) -> ProblemBoard:
    if wanted is None:
        return board
    return replace(board, standings=tuple(s for s in board.standings if s.precision_class == wanted))
