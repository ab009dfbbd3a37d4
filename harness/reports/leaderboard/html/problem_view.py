"""What the page says of one problem: its pictures and tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby

from markupsafe import Markup

from harness.records.entry import Entry
from harness.records.evaluation import Evaluation, Work
from harness.records.statistics import Interval
from harness.reports.leaderboard.board import ProblemBoard, Standing, speedup_of
from harness.reports.leaderboard.html.solution_view import SolutionView, solution_view
from harness.reports.leaderboard.words import problem_note
from harness.reports.pictures.drawing import page_svg
from harness.reports.pictures.roofline import Rate, scatter
from harness.reports.pictures.speedups import (
    Measurement,
    history_chart,
    page_bar,
    page_bar_ticks,
    speedup_axis,
)
from harness.reports.numbers import format_ms, format_rate, format_speedup
from harness.reports.roofline import light_words
from harness.reports.untrusted import one_line

_MOST_MEASUREMENTS = 200
"""The newest that history draws and lists: a file of a size to be sent around."""


@dataclass(frozen=True)
class BarView:
    """One ranked solution's bar."""

    solution: SolutionView
    picture: Markup


@dataclass(frozen=True)
class RateView:
    """What an arm achieved on the work that a call can't do without."""

    name: str
    anchor: str | None
    bytes_rate: str
    operations_rate: str


@dataclass(frozen=True)
class ProblemView:
    """A problem's section."""

    anchor: str
    name: str
    title: str
    precision: str
    sha256: str
    note: str | None
    cases: tuple[str, ...]
    shapes: dict[str, str]
    """Of each case the shape of the output."""
    solutions: tuple[SolutionView, ...]
    bars: tuple[tuple[str, tuple[BarView, ...]], ...]
    """By class of precision."""
    bar_ticks: Markup | None
    roofline: Markup | None
    rates: tuple[RateView, ...]
    work: str | None
    limit: str
    """What the GPU's ceilings make of that work."""
    history: Markup | None
    measurements: tuple[tuple[str, str, str, str], ...]
    """Newest first: time, solution, speed-up, commit."""
    all_measurements: int
    """How many the journal has; `measurements` may hold the newest alone."""


def problem_view(
    problem: ProblemBoard,
    evaluations: Mapping[str, Evaluation],
    history: Sequence[Entry],
    anchor: str,
    anchors: Mapping[str, str],
) -> ProblemView:
    """`evaluations`: by id; `history`: all measurements, oldest first; `anchors`: of the solutions, by name."""
    pairs = [(s, evaluations[s.entry.id]) for s in problem.standings]
    views = tuple(solution_view(s, e, anchors[s.entry.solution], problem.cases) for s, e in pairs)
    ranked = [(s, e, v) for (s, e), v in zip(pairs, views, strict=True) if s.rank is not None]
    axis = speedup_axis([v.speedup for _, _, v in ranked if v.speedup], 1, 99) if ranked else None
    bars = [(v.precision, BarView(v, page_svg(page_bar(axis, v.speedup)))) for _, _, v in ranked if axis and v.speedup]
    works = [(s, e, e.work) for s, e, _ in ranked if e.work]
    newest = history[-_MOST_MEASUREMENTS:]
    titles = [e.problem.title for s, e in pairs if e.problem.title]
    return ProblemView(
        anchor=anchor,
        name=one_line(problem.name),
        title=one_line(titles[-1]) if titles else "",
        precision=one_line(problem.precision),
        sha256=problem.sha256[:16],
        note=problem_note(problem),
        cases=problem.cases,
        shapes=_shapes([e for _, e in pairs if e.problem.sha256 == problem.sha256]),
        solutions=views,
        bars=tuple((name, tuple(b for _, b in group)) for name, group in groupby(bars, key=lambda item: item[0])),
        bar_ticks=page_svg(page_bar_ticks(axis)) if axis else None,
        roofline=_roofline(works),
        rates=tuple(_rates(works, anchors)),
        work=_work(works[0][2]) if works else None,
        limit=_limit([e for _, e, _ in works]),
        history=_history(newest),
        measurements=tuple(_measurement_row(entry) for entry in reversed(newest)),
        all_measurements=len(history),
    )


def _shapes(evaluations: Sequence[Evaluation]) -> dict[str, str]:
    shapes: dict[str, str] = {}
    for check in (check for e in evaluations for check in e.checks):
        outputs = ", ".join("×".join(map(str, o.shape)) or "scalar" for o in check.outputs)
        shapes.setdefault(check.case, outputs)
    return shapes


def _work(work: Work) -> str:
    bytes_moved = format_rate(work.least_bytes, "B")
    if work.operations is None:
        return f"{bytes_moved} at least to move, no operations counted"
    return f"{bytes_moved} at least to move, {format_rate(work.operations, 'FLOP')}"


def _limit(evaluations: Sequence[Evaluation]) -> str:
    """By class of arithmetic, where solutions are held against several."""
    lights = dict.fromkeys(light_words(e.speed_of_light) for e in evaluations if e.speed_of_light)
    if not lights:
        return "the machine's ceilings are not in the records, so none is drawn"
    return f"at the best that the GPU can do a call takes {' or '.join(lights)}"


def _arms(works: Sequence[tuple[Standing, Evaluation, Work]]) -> list[tuple[str, str | None, float, Work]]:
    """Baseline first, by the fastest solution's evaluation, then the solutions: name, solution, ns a call, work."""
    arms: list[tuple[str, str | None, float, Work]] = []
    for standing, _, work in works:
        entry = standing.entry
        if not arms and entry.baseline and entry.baseline_ns:
            arms.append((f"reference ({entry.baseline})", None, entry.baseline_ns, work))
        if entry.solution_ns:
            arms.append((one_line(entry.solution), entry.solution, entry.solution_ns, work))
    return arms


def _rates(works: Sequence[tuple[Standing, Evaluation, Work]], anchors: Mapping[str, str]) -> list[RateView]:
    return [
        RateView(
            name=name,
            anchor=anchors[solution] if solution else None,
            bytes_rate=format_rate(work.least_bytes / ns * 1e9, "B/s"),
            operations_rate=format_rate(work.operations / ns * 1e9, "FLOP/s") if work.operations else "—",
        )
        for name, solution, ns, work in _arms(works)
    ]


def _roofline(works: Sequence[tuple[Standing, Evaluation, Work]]) -> Markup | None:
    points = [
        Rate(
            name=name,
            intensity=work.operations / work.least_bytes,
            rate=work.operations / ns * 1e9,
            is_baseline=solution is None,
            about=f"{name}: {format_rate(work.operations / ns * 1e9, 'FLOP/s')} in {format_ms(ns)} ms",
        )
        for name, solution, ns, work in _arms(works)
        if work.operations
    ]
    return page_svg(scatter(points)) if points else None


def _history(entries: Sequence[Entry]) -> Markup | None:
    measured = [(e, interval) for e in entries if (interval := speedup_of(e))]
    if len({e.solution for e, _ in measured}) == len(measured):
        return None
    return page_svg(history_chart([_measurement(e, interval) for e, interval in measured]))


def _measurement(entry: Entry, interval: Interval) -> Measurement:
    about = f"{one_line(entry.solution)}, {entry.started_at[:16]}: {format_speedup(interval)}"
    return Measurement(one_line(entry.solution), datetime.fromisoformat(entry.started_at), interval, about)


def _measurement_row(entry: Entry) -> tuple[str, str, str, str]:
    when = entry.started_at[:16].replace("T", " ")
    return when, one_line(entry.solution), format_speedup(speedup_of(entry)), one_line(entry.commit or "—")
