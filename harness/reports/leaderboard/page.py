"""The page: the board's views poured into the templates, under a policy that lets only our own style and script act."""

from __future__ import annotations

import base64
import hashlib
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from harness.model.evaluation import Evaluation
from harness.model.verdict import Verdict
from harness.reports.blocks import Pairs, Words, spans
from harness.reports.evaluation import environment_facts
from harness.reports.leaderboard.board import Board, ProblemBoard
from harness.reports.leaderboard.problem_page import ProblemView
from harness.reports.leaderboard.rules import title_of
from harness.reports.leaderboard.solution_page import SolutionView
from harness.reports.leaderboard.words import ClassTotal, left_out_note, rules, totals, verdict_counts
from harness.reports.numbers import format_speedup
from harness.reports.pictures.drawing import page_svg, stylesheet
from harness.reports.pictures.speedups import Curve, fast_p_chart, page_share
from harness.reports.untrusted import harmless, shortened
from harness.store.entry import Entry

TEMPLATES = Path(__file__).parent / "templates"

History = Callable[[ProblemBoard], Sequence[Entry]]
"""Every measurement of a problem under the board's rules, oldest first."""


def leaderboard_html(board: Board, evaluations: Mapping[str, Evaluation], history: History) -> str:
    """One HTML document. `evaluations`: by id, those of the board's standings."""
    style, script = _own("leaderboard.css") + Markup(stylesheet()), _own("leaderboard.js")
    problems = _problems(board, evaluations, history)
    solutions = [solution for problem in problems for solution in problem.solutions]
    sums = totals(board)
    return (
        _templates()
        .get_template("page.html")
        .render(
            style=style,
            script=script,
            policy=_policy(style, script),
            board=board,
            machine=_machine(board, evaluations),
            problems=problems,
            solutions=solutions,
            solution_names=sorted({solution.entry.solution for solution in solutions}),
            cells={(one.entry.solution, one.entry.problem): one for one in solutions},
            classes=list(dict.fromkeys(one.precision for one in solutions)),
            counts=Counter(one.kind for one in solutions),
            has_own=any(one.entry.own_share is not None for one in solutions),
            has_light=any(one.share for one in solutions),
            totals=[
                (title_of(total.precision_class), total, format_speedup(total.mean_of_best), left_out_note(total))
                for total in sums
            ],
            fast_p=_fast_p(sums),
            failures=_failures(board, solutions),
            rules=rules(board),
        )
    )


def _templates() -> Environment:
    """Whatever text they print is harmless, and escaped where it isn't Markup."""
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: harmless(value) if type(value) is str else value,
    )
    environment.filters |= {
        "kind": lambda block: type(block).__name__,
        "words": _words,
        "text": lambda words: "".join(text for text, _ in spans(words)),
        "shortened": shortened,
    }
    return environment


def _words(words: Words) -> Markup:
    """Pieces of a line or a cell, with their tones as classes."""
    tagged = Markup('<span class="{1}">{0}</span>')
    return Markup("").join(text if tone == "plain" else tagged.format(text, tone) for text, tone in spans(words))


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
        solutions = tuple(
            SolutionView(
                standing,
                evaluations[standing.entry.id],
                _anchor(f"{problem.name}--{standing.entry.solution}", taken),
                problem.cases,
            )
            for standing in problem.standings
        )
        views.append(ProblemView(problem, solutions, history(problem), anchor))
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


def _machine(board: Board, evaluations: Mapping[str, Evaluation]) -> Pairs:
    """The board's own environment; nothing where nothing of it is shown."""
    here = (e.environment for e in evaluations.values() if e.environment.fingerprint == board.environment.key)
    known = environment_facts(first).rows if (first := next(here, None)) else []
    return Pairs([row for row in known if row[0] != "commit"])


def _fast_p(sums: tuple[ClassTotal, ...]) -> tuple[Markup, list[tuple[Curve, Markup]]] | None:
    """The chart, and each curve with its look; None where nothing was timed."""
    curves = []
    for series, total in enumerate(total for total in sums if total.of_all):
        title = title_of(total.precision_class)
        curves.append(Curve(f"{title}, every solution", series, False, total.of_all))
        curves.append(Curve(f"{title}, best of each problem", series, True, total.of_best))
    return (page_svg(fast_p_chart(curves)), [(one, page_svg(one.sample)) for one in curves]) if curves else None


def _failures(board: Board, solutions: Sequence[SolutionView]) -> list[tuple[Verdict, Markup, list[SolutionView]]]:
    """Verdicts with their solutions; the bar is a verdict's share of the most frequent one's."""
    views = {one.entry.id: one for one in solutions}
    counts = verdict_counts(board.standings)
    most = max((len(group) for _, group in counts), default=1)
    return [
        (verdict, page_svg(page_share(len(group) / most)), [views[one.entry.id] for one in group])
        for verdict, group in counts
    ]
