"""The page: the board's views poured into the templates, under a policy that lets only our own style and script act.

A board of more solutions than _MOST_DETAILS is shown briefly: its winners in full, of the others a row each, which the
script puts into the table where they are looked for.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from jinja2.utils import htmlsafe_json_dumps
from markupsafe import Markup

from harness.model.evaluation import Evaluation
from harness.model.plural import several
from harness.model.statistics import Interval
from harness.model.verdict import Verdict
from harness.reports.blocks import Pairs, Words, spans
from harness.reports.evaluation import environment_facts
from harness.reports.leaderboard.authors import PASS_AT, AuthorTotal, authors
from harness.reports.leaderboard.board import Board, ProblemBoard, Standing
from harness.reports.leaderboard.rules import TITLES
from harness.reports.leaderboard.views import ProblemView, SolutionView
from harness.reports.leaderboard.words import ClassTotal, RowView, left_out_note, rules, totals, verdict_counts
from harness.reports.numbers import format_moment, format_ms, format_rate, format_speedup
from harness.reports.pictures.drawing import Picture, page_svg, stylesheet
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
_MOST_AUTHORS = 12
_MOST_REASONS = 4

History = Callable[[ProblemBoard], Sequence[Entry]]
"""Every measurement of a problem under the board's rules, oldest first."""


def shown_in_full(board: Board) -> list[Standing]:
    """The solutions whose whole evaluations the page wants: all, or of many the fastest winners."""
    if len(board.standings) <= _MOST_DETAILS:
        return list(board.standings)
    winners = [one for one in board.standings if one.rank == 1]
    return sorted(winners, key=lambda one: -one.entry.estimate)[:_MOST_OF_A_LARGE_BOARD]


def leaderboard_html(board: Board, evaluations: Mapping[str, Evaluation], history: History) -> str:
    """One HTML document. `evaluations`: by id, those of the standings that shown_in_full() names."""
    style, script = _own("leaderboard.css") + Markup(stylesheet()), _own("leaderboard.js")
    problems = _problems(board, evaluations, history)
    solutions = [solution for problem in problems for solution in problem.solutions]
    names = sorted({solution.entry.solution for solution in solutions})
    is_matrix = len(names) * len(problems) <= _MOST_CELLS
    sums, by_author = totals(board), authors(board)
    has_own = any(one.entry.own_share is not None for one in solutions)
    has_light = any(one.share for one in solutions)
    rows = [(problem, one) for problem in problems for one in problem.solutions]
    here = next(
        (e.environment for e in evaluations.values() if e.environment.fingerprint == board.environment.key), None
    )
    return (
        _templates()
        .get_template("page.html")
        .render(
            style=style,
            script=script,
            policy=_policy(style, script),
            board=board,
            machine=Pairs([fact for fact in environment_facts(here).rows if fact[0] != "commit"] if here else []),
            place=f"{here.gpu or 'the simulator, on a CPU'}, torch {here.torch}" if here else None,
            problems=problems,
            solutions=solutions,
            winners=_winners(problems),
            solution_names=names if is_matrix else [],
            by_author=_by_author(problems) if not is_matrix else ([], []),
            rows=rows[:_MOST_ROWS],
            more=_more(rows[_MOST_ROWS:], has_light, has_own),
            authors=by_author,
            has_authors=len({one.entry.author for one in solutions}) > 1,
            pass_at=PASS_AT,
            author_curves=_author_curves(by_author),
            cells={(one.entry.solution, one.entry.problem): one for one in solutions},
            classes=list(dict.fromkeys(one.precision for one in solutions)),
            counts=Counter(one.kind for one in solutions),
            apart=_apart(solutions),
            has_own=has_own,
            has_light=has_light,
            totals=[(total, left_out_note(total)) for total in sums],
            fast_p=_fast_p(sums),
            failures=_verdicts(board, solutions, are_failures=True),
            unjudged=_verdicts(board, solutions, are_failures=False),
            rules=rules(board),
        )
    )


def _templates() -> Environment:
    """Whatever text they print is harmless, and escaped where it isn't Markup; pictures are drawn where they stand."""
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_shown,
    )
    environment.filters |= {
        "kind": lambda block: type(block).__name__,
        "words": _words,
        "text": lambda words: "".join(text for text, _ in spans(words)),
        "several": several,
        "shortened": shortened,
        "ms": format_ms,
        "rate": format_rate,
        "speedup": format_speedup,
        "moment": format_moment,
        "title_of": TITLES.get,
    }
    return environment


def _shown(value: object) -> object:
    if isinstance(value, Picture):
        return page_svg(value)
    return harmless(value) if type(value) is str else value


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


@dataclass(frozen=True)
class Winners:
    """The fastest solution of each problem with its bar, of one class of precision; `left`: how many more there are."""

    precision: str
    bars: list[tuple[ProblemView, RowView, Picture]]
    left: int


def _winners(problems: Sequence[ProblemView]) -> tuple[list[Winners], Picture] | None:
    """The winners by class, and the axis that all bars share; None where nothing is ranked."""
    classes: dict[str, list[tuple[Interval, ProblemView, RowView]]] = defaultdict(list)
    for problem in problems:
        for precision, group in groupby(problem.ranked, key=lambda one: one.precision):
            first = next(group)  # standings come fastest first
            if first.speedup:
                classes[precision].append((first.speedup, problem, first))
    ordered = {name: sorted(found, key=lambda one: -one[0].estimate) for name, found in classes.items()}
    shown = [speedup for found in ordered.values() for speedup, *_ in found[:_MOST_WINNERS]]
    if not shown:
        return None
    axis = speedup_axis(shown, 1, 99)
    return [
        Winners(
            precision,
            [(problem, one, page_bar(axis, speedup)) for speedup, problem, one in found[:_MOST_WINNERS]],
            max(0, len(found) - _MOST_WINNERS),
        )
        for precision, found in ordered.items()
    ], page_bar_ticks(axis)


def _more(rows: Sequence[tuple[ProblemView, RowView]], has_light: bool, has_own: bool) -> Markup | None:
    """The rows that aren't in the table from the start, of which leaderboard.js makes cells: all words that are used,
    each once, and rows that name them by number."""
    if not rows:
        return None
    numbers: dict[str, int] = {}
    made = []
    for problem, one in rows:
        entry = one.entry
        cells: list[object] = [
            [one.rank, one.standing.rank],
            [format_speedup(one.speedup), one.speedup and one.speedup.estimate],
            [one.time, one.speedup and entry.solution_ns],
            [one.baseline_time, one.speedup and entry.baseline_ns],
            *([[one.light, one.share]] if has_light else []),
            *([[one.own, entry.own_share]] if has_own else []),
        ]
        words = (one.kind, one.precision, entry.author or "", entry.solution, entry.problem, problem.anchor)
        about = (one.anchor, entry.verdict.value, entry.started_at[:10], one.standing.why_unranked or "")
        named = [numbers.setdefault(harmless(word), len(numbers)) for word in (*words, *about)]
        made.append([*named, entry.id, cells])
    return htmlsafe_json_dumps([list(numbers), made], separators=(",", ":"))


AuthorCell = tuple[RowView, str]
"""An author's best sample of a problem, and how many are right."""


def _by_author(problems: Sequence[ProblemView]) -> tuple[list[str], list[tuple[ProblemView, list[AuthorCell | None]]]]:
    """Problem × author, where a table of problem × solution would be too large: names, and rows of cells."""
    found: dict[str, dict[str, list[RowView]]] = defaultdict(lambda: defaultdict(list))
    for problem in problems:
        for one in problem.solutions:
            if one.standing.is_sample and one.entry.author:
                found[one.entry.author][problem.problem.name].append(one)
    names = sorted(found)
    if not 1 < len(names) <= _MOST_AUTHORS:
        return [], []
    rows = [(problem, [_cell_of(found[name].get(problem.problem.name)) for name in names]) for problem in problems]
    return names, rows


def _cell_of(samples: Sequence[RowView] | None) -> AuthorCell | None:
    if not samples:
        return None
    right = sum(one.entry.verdict.passed for one in samples)
    best = min(samples, key=lambda one: (one.standing.rank is None, -one.entry.estimate))
    return best, f"{right} of {len(samples)} right"


def _apart(solutions: Sequence[RowView]) -> list[tuple[str, int]]:
    """Why solutions aren't compared here, the most frequent reason first."""
    reasons = (one.standing.why_unranked or "" for one in solutions if one.kind == "apart")
    found = Counter(reason.partition(",")[0] for reason in reasons).most_common()
    rest = sum(count for _, count in found[_MOST_REASONS:])
    return [*found[:_MOST_REASONS], *([("for other reasons", rest)] if rest else [])]


def _author_curves(found: Sequence[AuthorTotal]) -> tuple[list[tuple[str, Picture]], list[Curve]] | None:
    """A chart of fast_p by author for each level, or one where there are none, and their legend; None where nothing was
    timed."""
    names = list(dict.fromkeys(one.author for one in found if one.level is None and one.mean))[:_MOST_CURVES]
    if not names:
        return None
    levels: list[int | None] = [*sorted({one.level for one in found if one.level is not None})]
    charts = []
    for level in levels or [None]:
        curves = [_curve(one, names) for one in found if one.level == level and one.author in names]
        charts.append((f"Level {level}" if level else "All problems", fast_p_chart(curves)))
    return charts, [_curve(one, names) for one in found if one.level is None and one.author in names]


def _curve(total: AuthorTotal, names: Sequence[str]) -> Curve:
    return Curve(total.author, names.index(total.author), False, total.fast_p)


def _anchor(name: str, taken: set[str]) -> str:
    """An id of letters that need no escaping, each given once."""
    plain = re.sub(r"[^a-z0-9_-]+", "-", name.lower())[:60].strip("-") or "item"
    number, anchor = 1, plain
    while anchor in taken:
        number += 1
        anchor = f"{plain}-{number}"
    taken.add(anchor)
    return anchor


def _fast_p(sums: tuple[ClassTotal, ...]) -> tuple[Picture, list[Curve]] | None:
    """The chart and its curves; None where nothing was timed."""
    curves = []
    for series, total in enumerate(total for total in sums if total.of_all):
        title = TITLES[total.precision_class]
        curves.append(Curve(f"{title}, every solution", series, False, total.of_all))
        curves.append(Curve(f"{title}, best of each problem", series, True, total.of_best))
    return (fast_p_chart(curves), curves) if curves else None


def _verdicts(
    board: Board, solutions: Sequence[RowView], are_failures: bool
) -> list[tuple[Verdict, Picture, list[RowView]]]:
    """Verdicts but `passed` with their solutions: the solutions' own failures, or what says nothing of them. The bar is
    a verdict's share of the most frequent one's."""
    views = {one.entry.id: one for one in solutions}
    counts = [one for one in verdict_counts(board.standings) if one[0].blames_solution == are_failures]
    most = max((len(group) for _, group in counts), default=1)
    return [
        (verdict, page_share(len(group) / most), [views[one.entry.id] for one in group]) for verdict, group in counts
    ]
