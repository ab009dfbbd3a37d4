"""The page's views of a problem and of a solution: what the templates show of each."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from itertools import groupby, islice
from typing import NamedTuple

from markupsafe import Markup

from harness.model.evaluation import Evaluation, Work
from harness.reports.blocks import Section
from harness.reports.evaluation import again, findings, record, surroundings
from harness.reports.leaderboard.board import ProblemBoard
from harness.reports.leaderboard.highlight import coloured
from harness.reports.leaderboard.words import RowView, problem_note
from harness.reports.numbers import format_error, format_ms, format_rate, format_speedup, light_words, work_words
from harness.reports.pictures.axes import Scale
from harness.reports.pictures.calls import ArmSamples, samples_of
from harness.reports.pictures.drawing import Picture
from harness.reports.pictures.roof import Roof, roof_of
from harness.reports.pictures.roofline import Rate, scatter
from harness.reports.pictures.samples import histogram
from harness.reports.pictures.speedups import Measurement, history_chart, page_bar, page_bar_ticks, speedup_axis
from harness.reports.untrusted import harmless, one_line, shortened
from harness.store.entry import Entry

_LONGEST_EXPLANATION = 8_000
_MOST_BARS = 5
_MOST_MEASUREMENTS = 200
"""The newest that history draws and lists: a file of a size to be sent around."""


@dataclass(frozen=True)
class SolutionView(RowView):
    """A solution's part of the page, too, from its whole evaluation. `all_cases` are the problem's."""

    evaluation: Evaluation = field(kw_only=True)
    all_cases: Sequence[str] = field(kw_only=True)

    @property
    def error(self) -> str:
        return format_error(self.evaluation.checks)

    @property
    def worst(self) -> str:
        """The error for sorting, in JavaScript's notation; '' where nothing was compared."""
        worst = self.evaluation.worst
        return "" if worst is None or math.isnan(worst) else "Infinity" if math.isinf(worst) else repr(worst)

    @property
    def explanation(self) -> str:
        return shortened(self.evaluation.solution.explanation, _LONGEST_EXPLANATION).strip()

    @property
    def arms(self) -> list[tuple[ArmSamples, Picture]]:
        """Each arm's calls with their picture: baselines first, then their control, the solution last."""
        arms = samples_of(self.evaluation.timing).arms if self.evaluation.timing else ()
        return [(arm, Picture(tuple(histogram(arm, 24)), 24)) for arm in arms]

    @property
    def sections(self) -> list[Section]:
        return [*findings(self.evaluation), again(self.evaluation, self.all_cases)]

    @property
    def facts(self) -> list[Section]:
        return [Section("evaluation", [record(self.evaluation)]), *surroundings(self.evaluation)]

    @property
    def sources(self) -> list[tuple[str, Markup, int]]:
        """Each file's name, its text in colour, and how many lines it has."""
        files = [(name, harmless(text)) for name, text in sorted(self.evaluation.solution.files.items())]
        return [(name, coloured(name, text), len(text.splitlines())) for name, text in files]

    @property
    def logs(self) -> list[tuple[str, str]]:
        return [(build.name, shortened(build.output)) for build in self.evaluation.builds if build.output.strip()]

    @cached_property
    def errors_by_case(self) -> dict[str, tuple[str, bool]]:
        """Maps each case that was judged to the error as a multiple of the tolerance, or the verdict that ended it; and
        whether it passed."""
        found, failure = {}, self.evaluation.failure
        for case in dict.fromkeys(check.case for check in self.evaluation.checks):
            checks = tuple(check for check in self.evaluation.checks if check.case == case)
            found[case] = (format_error(checks), all(check.passed for check in checks))
        if failure and failure.case and found.get(failure.case, ("", True))[1]:
            found[failure.case] = (self.entry.verdict.value, False)
        return found


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
