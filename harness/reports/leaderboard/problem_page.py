"""The page's section on one problem: its pictures and tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from itertools import groupby, islice
from typing import NamedTuple

from harness.model.evaluation import Work
from harness.reports.leaderboard.board import ProblemBoard
from harness.reports.leaderboard.solution_page import SolutionView
from harness.reports.leaderboard.words import RowView, problem_note
from harness.reports.numbers import format_ms, format_rate, format_speedup, light_words, work_words
from harness.reports.pictures.axes import Scale
from harness.reports.pictures.drawing import Picture
from harness.reports.pictures.roof import Roof, roof_of
from harness.reports.pictures.roofline import Rate, scatter
from harness.reports.pictures.speedups import Measurement, history_chart, page_bar, page_bar_ticks, speedup_axis
from harness.reports.untrusted import one_line
from harness.store.entry import Entry

_MOST_BARS = 5
_MOST_MEASUREMENTS = 200
"""The newest that history draws and lists: a file of a size to be sent around."""


class ArmRate(NamedTuple):
    """The time that an arm takes for the work that a call can't do without; the baseline has no `anchor`."""

    name: str
    anchor: str
    ns: float
    work: Work


@dataclass(frozen=True)
class ProblemView:
    """A problem's section. `history` holds all measurements, oldest first. `is_brief`: of a large board, with its first
    few bars and without tables and other pictures."""

    problem: ProblemBoard
    solutions: tuple[RowView, ...]
    history: Sequence[Entry]
    anchor: str
    is_brief: bool = False

    @cached_property
    def whole(self) -> list[SolutionView]:
        """The solutions of which the page has more than a row."""
        return [view for view in self.solutions if isinstance(view, SolutionView)]

    @property
    def title(self) -> str:
        titles = [view.evaluation.problem.title for view in self.whole if view.evaluation.problem.title]
        return titles[-1] if titles else ""

    @property
    def note(self) -> str | None:
        return problem_note(self.problem)

    def beside(self, row: RowView) -> str:
        """Say that a solution computes more precisely than the baseline, or how fast it is beside its like."""
        if row.like:
            return row.like
        is_tf32 = self.problem.precision == "tf32" and row.standing.precision_class in ("float32", "float64")
        return f"{row.entry.baseline} computes in tf32" if is_tf32 else ""

    @property
    def shapes(self) -> dict[str, str]:
        """The shape of the output in each case."""
        shapes: dict[str, str] = {}
        for evaluation in (view.evaluation for view in self.whole):
            for check in evaluation.checks if evaluation.problem.sha256 == self.problem.sha256 else ():
                outputs = ", ".join("×".join(map(str, output.shape)) or "scalar" for output in check.outputs)
                shapes.setdefault(check.case, outputs)
        return shapes

    @property
    def bars(self) -> list[tuple[str, list[tuple[RowView, Picture]]]]:
        """Each ranked solution with its bar, by class of precision; of a large board the first few."""
        axis, most = self._axis, _MOST_BARS if self.is_brief else None
        groups = groupby(self.ranked, key=lambda view: view.precision)
        return [
            (precision, [(one, page_bar(axis, one.speedup)) for one in islice(group, most) if one.speedup])
            for precision, group in groups
            if axis
        ]

    @property
    def rest(self) -> int:
        """The number of solutions that have neither a bar nor more here."""
        return len(self.solutions) - sum(len(bars) for _, bars in self.bars) if self.is_brief else 0

    @property
    def bar_ticks(self) -> Picture | None:
        return page_bar_ticks(self._axis) if self._axis else None

    @property
    def work(self) -> str | None:
        return work_words(self.rates[-1].work) if self.rates else None

    @property
    def limit(self) -> str:
        """The time of that work at the GPU's ceilings: by class of arithmetic, where solutions are held against
        several."""
        lights = [view.evaluation.speed_of_light for view in self.whole if view.standing.rank and view.evaluation.work]
        if words := dict.fromkeys(light_words(light) for light in lights if light):
            return f"at the best that the GPU can do a call takes {' or '.join(words)}"
        return "the machine's ceilings are not in the records, so none is drawn"

    @cached_property
    def rates(self) -> list[ArmRate]:
        """The baseline first, by the fastest solution's evaluation, then the solutions."""
        rates: list[ArmRate] = []
        for view in (view for view in self.whole if view.standing.rank is not None):
            entry, work = view.entry, view.evaluation.work
            if work and not rates and entry.baseline and entry.baseline_ns:
                rates.append(ArmRate(f"reference ({entry.baseline})", "", entry.baseline_ns, work))
            if work and entry.solution_ns:
                rates.append(ArmRate(entry.solution, view.anchor, entry.solution_ns, work))
        return rates

    @cached_property
    def roofline(self) -> Picture | None:
        """The scatter of rates; None where no operations are counted."""
        points = []
        for name, anchor, ns, work in self.rates:
            if work.operations:
                intensity, per_second = work.operations / work.least_bytes, work.operations / ns * 1e9
                about = f"{one_line(name)}: {format_rate(per_second, 'FLOP/s')} in {format_ms(ns)} ms"
                points.append(Rate(one_line(name), intensity, per_second, not anchor, about))
        return scatter(points, self._roofs) if points else None

    @property
    def _roofs(self) -> list[Roof]:
        """The roof of each ranked solution; nothing in records from before ceilings were in them."""
        found = (view.evaluation for view in self.whole if view.standing.rank is not None)
        return [
            roof_of(one.ceilings, one.work, one.speed_of_light)
            for one in found
            if one.ceilings and one.work and one.speed_of_light
        ]

    @cached_property
    def newest(self) -> Sequence[Entry]:
        """The measurements that are drawn and listed."""
        return self.history[-_MOST_MEASUREMENTS:]

    @property
    def history_chart(self) -> Picture | None:
        """The chart; None where no solution was measured twice."""
        measured = [_measurement(entry) for entry in self.newest]
        return history_chart(measured) if len({one.name for one in measured}) < len(measured) else None

    @cached_property
    def ranked(self) -> list[RowView]:
        return [view for view in self.solutions if view.standing.rank is not None]

    @cached_property
    def _axis(self) -> Scale | None:
        speedups = [view.speedup for view in self.ranked if view.speedup]
        return speedup_axis(speedups, 1, 99) if speedups else None


def _measurement(entry: Entry) -> Measurement:
    assert entry.speedup is not None
    name = one_line(entry.solution)
    about = f"{name}, {entry.started_at[:16]}: {format_speedup(entry.speedup)}"
    return Measurement(name, datetime.fromisoformat(entry.started_at), entry.speedup, about)
