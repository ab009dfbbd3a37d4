"""The page: the board's views poured into the templates, under a policy that lets only our own style and script act.

A board of more solutions than _MOST_DETAILS is shown briefly: its winners in full, of the others a row each, which the
script puts into the table where they are looked for.
"""

from __future__ import annotations

import base64
import hashlib
import json
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
from harness.reports.leaderboard.authors import PASS_AT, AuthorTotal, authors
from harness.reports.leaderboard.board import Board, ProblemBoard, Standing
from harness.reports.leaderboard.problem_page import ProblemView
from harness.reports.leaderboard.rules import title_of
from harness.reports.leaderboard.solution_page import RowView, SolutionView
from harness.reports.leaderboard.words import ClassTotal, left_out_note, rules, totals, verdict_counts
from harness.reports.numbers import format_speedup
from harness.reports.pictures.drawing import page_svg, stylesheet
from harness.reports.pictures.speedups import (
    Curve,
    fast_p_chart,
    page_bar,
    page_bar_ticks,
    page_share,
    speedup_axis,
)
from harness.reports.untrusted import harmless, shortened
from harness.store.entry import Entry

TEMPLATES = Path(__file__).parent / "templates"

_MOST_DETAILS = 100
"""Solutions of a board that is shown whole: each with its samples, sources and facts, some 40 kB ..."""
_MOST_OF_A_LARGE_BOARD = 40
"""... and of a larger one."""
_MOST_ROWS = 300
"""Rows that the table of standings shows at a time (leaderboard.js has the same number)."""
_MOST_CELLS = 3_000
_MOST_WINNERS = 12
_MOST_CURVES = 7

History = Callable[[ProblemBoard], Sequence[Entry]]
"""Every measurement of a problem under the board's rules, oldest first."""


def shown_in_full(board: Board) -> list[Standing]:
    """The solutions whose whole evaluations the page wants: all, or of many the fastest winners."""
    if len(board.standings) <= _MOST_DETAILS:
        return list(board.standings)
    winners = [one for one in board.standings if one.rank == 1]
    return sorted(winners, key=lambda one: -(one.entry.speedup or 0))[:_MOST_OF_A_LARGE_BOARD]


def leaderboard_html(board: Board, evaluations: Mapping[str, Evaluation], history: History) -> str:
    """One HTML document. `evaluations`: by id, those of the standings that shown_in_full() names."""
    style, script = _own("leaderboard.css") + Markup(stylesheet()), _own("leaderboard.js")
    problems = _problems(board, evaluations, history)
    solutions = [solution for problem in problems for solution in problem.solutions]
    names = sorted({solution.entry.solution for solution in solutions})
    sums, by_author = totals(board), authors(board)
    has_own = any(one.entry.own_share is not None for one in solutions)
    has_light = any(one.share for one in solutions)
    rows = [(problem, one) for problem in problems for one in problem.solutions]
    return (
        _templates()
        .get_template("page.html")
        .render(
            style=style,
            script=script,
            policy=_policy(style, script),
            board=board,
            machine=_machine(board, evaluations),
            place=_place(board, evaluations),
            problems=problems,
            solutions=solutions,
            winners=_winners(solutions),
            solution_names=names if len(names) * len(problems) <= _MOST_CELLS else [],
            rows=rows[:_MOST_ROWS],
            more=_more(rows[_MOST_ROWS:], has_light, has_own),
            authors=[(one, format_speedup(one.mean)) for one in by_author],
            pass_at=PASS_AT,
            author_curves=_author_curves(by_author),
            cells={(one.entry.solution, one.entry.problem): one for one in solutions},
            classes=list(dict.fromkeys(one.precision for one in solutions)),
            counts=Counter(one.kind for one in solutions),
            has_own=has_own,
            has_light=has_light,
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
    is_brief = len(evaluations) < len(board.standings)
    views = []
    for problem in board.problems:
        anchor = _anchor(problem.name, taken)
        solutions: list[RowView] = []
        for standing in problem.standings:
            if evaluation := evaluations.get(standing.entry.id):
                own = _anchor(f"{problem.name}--{standing.entry.solution}", taken)
                solutions.append(SolutionView(standing, own, evaluation=evaluation, all_cases=problem.cases))
            else:
                solutions.append(RowView(standing))
        past = () if is_brief else history(problem)
        views.append(ProblemView(problem, tuple(solutions), past, anchor, is_brief))
    return views


def _winners(solutions: Sequence[RowView]) -> list[tuple[str, list[tuple[RowView, Markup]], Markup, int]]:
    """The fastest solution of each problem with its bar, by class of precision; the axis; how many more there are."""
    found = []
    for precision in dict.fromkeys(one.precision for one in solutions):
        best: dict[str, RowView] = {}
        for one in solutions:
            if one.precision == precision and one.standing.rank is not None and one.speedup:
                best.setdefault(one.entry.problem, one)  # standings come fastest first
        ordered = sorted(best.values(), key=lambda one: -(one.entry.speedup or 0))
        shown = [(one, one.speedup) for one in ordered[:_MOST_WINNERS]]
        if shown:
            axis = speedup_axis([speedup for _, speedup in shown if speedup], 1, 99)
            bars = [(one, page_svg(page_bar(axis, speedup))) for one, speedup in shown if speedup]
            found.append((precision, bars, page_svg(page_bar_ticks(axis)), len(ordered) - len(shown)))
    return found


def _more(rows: Sequence[tuple[ProblemView, RowView]], has_light: bool, has_own: bool) -> Markup | None:
    """The rows that aren't in the table from the start: a list of lists, of which leaderboard.js makes cells."""
    if not rows:
        return None
    made = []
    for problem, one in rows:
        row = one.row
        cells: list[object] = [
            [row.rank, one.standing.rank],
            [one.estimate, one.speedup and one.speedup.estimate],
            [one.bounds, None],
            [row.time, one.speedup and one.entry.solution_ns],
            [row.baseline_time, one.speedup and one.entry.baseline_ns],
            *([[row.light, one.share]] if has_light else []),
            *([[row.own, one.entry.own_share]] if has_own else []),
            ["—", None],
        ]
        names = (one.kind, one.precision, one.entry.author or "", one.entry.solution, one.entry.problem)
        about = (problem.anchor, one.anchor, one.entry.id, one.entry.verdict.value, one.entry.started_at[:10])
        made.append([*map(harmless, names), *map(harmless, about), cells])
    text = json.dumps(made, ensure_ascii=True, separators=(",", ":"))
    return Markup(text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))


def _author_curves(found: Sequence[AuthorTotal]) -> tuple[Markup, list[tuple[Curve, Markup]]] | None:
    """fast_p of each author over all levels; None where nothing was timed."""
    totals_of = [one for one in found if one.level is None and one.mean][:_MOST_CURVES]
    curves = [Curve(one.author, series, False, one.fast_p) for series, one in enumerate(totals_of)]
    return (page_svg(fast_p_chart(curves)), [(one, page_svg(one.sample)) for one in curves]) if curves else None


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


def _place(board: Board, evaluations: Mapping[str, Evaluation]) -> str | None:
    """The board's own environment in plain words; None where nothing of it is shown whole."""
    here = (e.environment for e in evaluations.values() if e.environment.fingerprint == board.environment.key)
    first = next(here, None)
    return f"{first.gpu or 'the simulator, on a CPU'}, torch {first.torch}" if first else None


def _fast_p(sums: tuple[ClassTotal, ...]) -> tuple[Markup, list[tuple[Curve, Markup]]] | None:
    """The chart, and each curve with its look; None where nothing was timed."""
    curves = []
    for series, total in enumerate(total for total in sums if total.of_all):
        title = title_of(total.precision_class)
        curves.append(Curve(f"{title}, every solution", series, False, total.of_all))
        curves.append(Curve(f"{title}, best of each problem", series, True, total.of_best))
    return (page_svg(fast_p_chart(curves)), [(one, page_svg(one.sample)) for one in curves]) if curves else None


def _failures(board: Board, solutions: Sequence[RowView]) -> list[tuple[Verdict, Markup, list[RowView]]]:
    """Verdicts with their solutions; the bar is a verdict's share of the most frequent one's."""
    views = {one.entry.id: one for one in solutions}
    counts = verdict_counts(board.standings)
    most = max((len(group) for _, group in counts), default=1)
    return [
        (verdict, page_svg(page_share(len(group) / most)), [views[one.entry.id] for one in group])
        for verdict, group in counts
    ]
