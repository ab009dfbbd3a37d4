"""The board as a table, as Markdown, as JSON and as a picture."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from itertools import groupby
from pathlib import Path
from typing import Any

from harness.errors import UsageError
from harness.model.record import as_json
from harness.model.statistics import Interval
from harness.model.timing import OverBaseline
from harness.reports import markdown
from harness.reports.baselines import over_table
from harness.reports.blocks import Block, Column, ColumnOf, Line, Section, Span, Words, number, table_of
from harness.reports.leaderboard.board import Board, ProblemBoard, Standing
from harness.reports.leaderboard.rules import TITLES, Candidate
from harness.reports.leaderboard.words import (
    ClassTotal,
    RowView,
    problem_note,
    rules,
    total_sentence,
    totals,
)
from harness.reports.numbers import format_share, format_speedup, light_note
from harness.reports.pictures.drawing import save
from harness.reports.pictures.speedups import bars
from harness.reports.run import LIGHT, OWN
from harness.reports.terminal import Report
from harness.reports.untrusted import one_line
from harness.store.entry import columns_of


def leaderboard_table(board: Board) -> Report:
    """List the ranked solutions by problem and class, and under them what isn't ranked and why."""
    head = Line((Span("leaderboard", "strong"), f" {board.environment.label}, config {board.config.key}"))
    rule = Line("ranked: newest problem files, passed on all cases, not noisy; ties share ranks", "faint")
    sums = [Line(total_sentence(total)) for total in totals(board)]
    return Report([head, rule, *_problems(board), *([Section("totals", sums, is_inset=False)] if sums else [])])


def leaderboard_markdown(board: Board) -> str:
    """A whole document, ending in a newline."""
    where = Line((Span(board.environment.label, "name"), ", config ", Span(board.config.key, "name")))
    sums = [Section("Totals", [Line(total_sentence(total)) for total in totals(board)])]
    kept = Section("Rules", [Line(rule) for rule in rules(board)])
    return "# Leaderboard\n\n" + markdown.rendered([where, *sums, *_problems(board), kept], level=2)


def save_leaderboard_plot(board: Board, path: Path) -> None:
    """Write the ranked solutions' speed-ups with intervals to `path`, whose ending decides: .png or .svg.

    Raises: UsageError for another ending or a board without a rank; MachineError where a PNG can't be made.
    """
    groups: dict[str, list[tuple[str, Interval]]] = {}
    for problem in board.problems:
        ending = ", end to end" if problem.metric == "end_to_end" else ""
        for standing in problem.standings:
            if standing.rank is not None and standing.entry.speedup:
                name = f"{one_line(problem.name)}, {TITLES[standing.precision_class]}{ending}"
                label = f"{standing.rank}  {textwrap.shorten(one_line(standing.entry.solution), 24)}"
                groups.setdefault(name, []).append((label, standing.entry.speedup))
    if not groups:
        raise UsageError("--plot: no solution is ranked, so there is nothing to draw")
    title = f"{one_line(board.environment.label)}, config {board.config.key}"
    save({path: bars(title, groups, board.baseline or "the baseline")})


def leaderboard_json(board: Board) -> str:
    """One object, indented, ending in a newline; times in nanoseconds, absent values null."""
    data = {
        "environment": _candidate_json(board.environment),
        "other_environments": [_candidate_json(c) for c in board.other_environments],
        "config": _candidate_json(board.config),
        "other_configs": [_candidate_json(c) for c in board.other_configs],
        "baseline": board.baseline,
        "rules": list(rules(board)),
        "totals": [_total_json(total) for total in totals(board)],
        "problems": [_problem_json(problem) for problem in board.problems],
    }
    return json.dumps(data, indent=2) + "\n"


def _candidate_json(candidate: Candidate) -> dict[str, Any]:
    return {name: value for name, value in asdict(candidate).items() if name != "measured"}


def _total_json(total: ClassTotal) -> dict[str, Any]:
    return {
        "class": total.precision_class,
        "problems": total.problems,
        "measured": total.measured,
        "left_out": list(total.left_out),
        "geometric_mean_of_best": _interval_json(total.mean_of_best),
        "fast_p_of_all": [asdict(point) for point in total.of_all],
        "fast_p_of_best": [asdict(point) for point in total.of_best],
    }


def _problem_json(problem: ProblemBoard) -> dict[str, Any]:
    return {
        "name": problem.name,
        "sha256": problem.sha256,
        "precision": problem.precision,
        "cases": list(problem.cases),
        "has_newer_version": problem.has_newer_version,
        "metric": problem.metric,
        "standings": [_standing_json(standing) for standing in problem.standings],
    }


def _standing_json(standing: Standing) -> dict[str, Any]:
    entry = as_json(columns_of(standing.entry))
    return {
        "rank": standing.rank,
        "class": standing.precision_class,
        "why_unranked": standing.why_unranked,
        "evaluation": standing.entry.id,
        **{name: entry[name] for name in _OF_ENTRY},
        "speedup": _interval_json(standing.entry.speedup),
        "control": _interval_json(standing.entry.control),
        "fastest_baseline": _over_json(standing.entry.fastest),
        "like_baseline": _over_json(standing.entry.like),
        "share_of_light": standing.entry.share_of_light,
        "is_older_source": standing.is_older_source,
        "evaluations": standing.evaluations,
    }


_OF_ENTRY = (
    *("solution", "verdict", "is_fragile", "confinement", "speed", "metric", "noise", "solution_ns", "baseline_ns"),
    *("speed_of_light_ns", "own_share", "light_source", "author", "run", "started_at", "backend", "environment"),
    *("config", "commit", "problem_sha256", "solution_sha256"),
)
"""The columns of the index that a standing's object has under the same names."""


def _over_json(row: OverBaseline | None) -> dict[str, Any] | None:
    """Return null where there is no such baseline beside the first."""
    if row is None:
        return None
    return {
        "baseline": row.baseline,
        "ties": list(row.ties),
        "baseline_ns": row.time_ns,
        "speedup": _interval_json(row.speedup),
    }


def _interval_json(interval: Interval | None) -> dict[str, float] | None:
    return {name: getattr(interval, name) for name in ("estimate", "low", "high")} if interval else None


def _problems(board: Board) -> Iterator[Section]:
    for problem in board.problems:
        yield Section(Span(problem.name, "name"), list(_problem(problem, board.baseline or "baseline")), is_inset=False)


def _problem(problem: ProblemBoard, baseline: str) -> Iterator[Block]:
    if note := problem_note(problem):
        yield Line(note, "unsure")
    ranked = [standing for standing in problem.standings if standing.rank is not None]
    for precision_class, group in groupby(ranked, key=lambda standing: standing.precision_class):
        yield Section(TITLES[precision_class], list(_ranking(list(group), baseline)), is_inset=False)
    if not ranked:
        yield Line("nothing ranked")
    unranked = [standing for standing in problem.standings if standing.rank is None]
    reasons = [
        Line((Span(one.entry.solution, "name"), f": {one.entry.verdict.value}: {one.why_unranked}")) for one in unranked
    ]
    if reasons:
        yield Section("not ranked", reasons)


def _ranking(standings: Sequence[Standing], baseline: str) -> Iterator[Block]:
    entries = [standing.entry for standing in standings]
    light = light_note([(one.solution, one.share_of_light, one.light_source) for one in entries])
    has_own = any(one.own_share is not None for one in entries)
    columns: list[ColumnOf[RowView]] = [
        (number("rank"), lambda one: one.rank),
        (Column("solution", is_name=True), _name),
        (number("ms"), lambda one: one.time),
        (number(f"{baseline} ms", is_extra=True), lambda one: one.baseline_time),
        (number("speed-up [95 %]"), lambda one: format_speedup(one.speedup)),
    ]
    if light:
        columns.append((number(LIGHT, is_extra=True), lambda one: format_share(one.entry.share_of_light)))
    if has_own:
        columns.append((number(OWN, is_extra=True), lambda one: one.own))
    columns.append((Column("speed"), lambda one: Span(one.speed, "faint")))
    yield table_of(map(RowView, standings), columns)
    if light:
        yield Line(light, "faint")
    if fastest := [(entry.solution, entry.fastest) for entry in entries if entry.fastest]:
        yield Line("over the fastest of several baselines:", "faint")
        yield over_table(fastest, "fastest baseline")
    if like := [(entry.solution, entry.like) for entry in entries if entry.like]:
        yield Line("over the reference in the same precision:", "faint")
        yield over_table(like, "in its precision")


def _name(row: RowView) -> Words:
    name = row.entry.solution
    return (name, Span(f" ({row.note})", "faint")) if row.note else name
