"""The page: the board's views poured into the templates, under a policy that lets only our own style and script act."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from harness.records.entry import Entry
from harness.records.evaluation import Evaluation
from harness.records.verdict import Verdict
from harness.reports.leaderboard.board import Board, ProblemBoard
from harness.reports.leaderboard.html.problem_view import ProblemView, problem_view
from harness.reports.leaderboard.html.solution_view import SolutionView, environment_rows
from harness.reports.leaderboard.precision import title_of
from harness.reports.leaderboard.totals import ClassTotal, totals, verdict_counts
from harness.reports.leaderboard.words import left_out_note, rules
from harness.reports.numbers import format_speedup
from harness.reports.pictures.drawing import page_svg, stylesheet
from harness.reports.pictures.speedups import Curve, fast_p_chart, page_share
from harness.reports.untrusted import one_line

TEMPLATES = Path(__file__).parent / "templates"


@dataclass(frozen=True)
class FailureView:
    """A verdict with its solutions; the bar is its share of the most frequent one's."""

    verdict: Verdict
    picture: Markup
    solutions: tuple[SolutionView, ...]


History = Callable[[ProblemBoard], Sequence[Entry]]
"""Every measurement of a problem under the board's rules, oldest first."""


def leaderboard_html(board: Board, evaluations: Mapping[str, Evaluation], history: History) -> str:
    """One HTML document. `evaluations`: by id, those of the board's standings."""
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["one_line"] = one_line
    style, script = _own("leaderboard.css") + Markup(stylesheet()), _own("leaderboard.js")
    problems = _problems(board, evaluations, history)
    sums = totals(board)
    return environment.get_template("page.html").render(
        style=style,
        script=script,
        policy=_policy(style, script),
        board=board,
        label=one_line(board.environment.label),
        newest=board.environment.newest[:10],
        machine=_machine(board, evaluations),
        problems=problems,
        solution_names=sorted({solution.name for problem in problems for solution in problem.solutions}),
        cells={(s.name, p.name): s for p in problems for s in p.solutions},
        classes=list(dict.fromkeys(s.precision for p in problems for s in p.solutions)),
        counts=_counts(problems),
        has_own=any(s.own_share is not None for p in problems for s in p.solutions),
        has_light=any(s.share for p in problems for s in p.solutions),
        totals=[
            (title_of(total.precision_class), total, format_speedup(total.mean_of_best), left_out_note(total))
            for total in sums
        ],
        fast_p=_fast_p(sums),
        failures=_failures(board, problems),
        rules=rules(board),
    )


def _own(name: str) -> Markup:
    return Markup((TEMPLATES / name).read_text(encoding="utf-8"))


def _policy(style: str, script: str) -> str:
    """Nothing is fetched, and nothing acts but the two texts whose hashes stand here."""
    return (
        f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def _problems(board: Board, evaluations: Mapping[str, Evaluation], history: History) -> list[ProblemView]:
    taken = {"overview", "rules", "standings", "machine", "top"}
    views = []
    for problem in board.problems:
        anchor = _anchor(problem.name, taken)
        names = [s.entry.solution for s in problem.standings]
        anchors = {name: _anchor(f"{problem.name}--{name}", taken) for name in names}
        views.append(problem_view(problem, evaluations, history(problem), anchor, anchors))
    return views


def _anchor(name: str, taken: set[str]) -> str:
    """An id of letters that need no escaping, each given once."""
    plain = re.sub(r"[^a-z0-9_-]+", "-", name.lower())[:60].strip("-") or "item"
    number, anchor = 1, plain
    while anchor in taken:
        number += 1
        anchor = f"{plain}-{number}"
    taken.add(anchor)
    return anchor


def _machine(board: Board, evaluations: Mapping[str, Evaluation]) -> tuple[tuple[str, str], ...]:
    """The board's own environment; () where nothing of it is shown."""
    here = (e.environment for e in evaluations.values() if e.environment.fingerprint == board.environment.key)
    first = next(here, None)
    return tuple(row for row in environment_rows(first) if row[0] != "commit") if first else ()


def _counts(problems: list[ProblemView]) -> dict[str, int]:
    kinds = [solution.kind for problem in problems for solution in problem.solutions]
    return {"solutions": len(kinds), **{kind: kinds.count(kind) for kind in ("ranked", "passed", "failed", "unjudged")}}


def _fast_p(sums: tuple[ClassTotal, ...]) -> tuple[Markup, list[tuple[Curve, Markup]]] | None:
    curves = []
    for series, total in enumerate(total for total in sums if total.of_all):
        title = title_of(total.precision_class)
        curves.append(Curve(f"{title}, every solution", series, False, total.of_all))
        curves.append(Curve(f"{title}, best of each problem", series, True, total.of_best))
    return (page_svg(fast_p_chart(curves)), [(curve, page_svg(curve.sample)) for curve in curves]) if curves else None


def _failures(board: Board, problems: list[ProblemView]) -> list[FailureView]:
    views = {
        standing.entry.id: view
        for problem, shown in zip(board.problems, problems, strict=True)
        for standing, view in zip(problem.standings, shown.solutions, strict=True)
    }
    counts = verdict_counts(board.standings)
    most = max((len(group) for _, group in counts), default=1)
    return [
        FailureView(verdict, page_svg(page_share(len(group) / most)), tuple(views[s.entry.id] for s in group))
        for verdict, group in counts
    ]
