"""Draws speed-ups: as bars, as shares of samples that are fast enough, and over time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from harness.model.ranking import FastP
from harness.model.statistics import Interval
from harness.reports.numbers import format_speedup
from harness.reports.pictures.axes import LegendSample, Panel, Scale, heading, legend, log_domain, spread
from harness.reports.pictures.drawing import MARKERS, Box, Dots, Label, Mark, Picture, Stroke

FAR_LEFT, FAR_RIGHT = 11.0, 97.0
"""Edges of a chart on the page, in % of its width; left of it stand the labels of the vertical axis."""
_NAMES_LEFT = 74.0
_ROW, _BAR, _WIDTH = 28.0, 17.0, 768.0


@dataclass(frozen=True)
class Curve:
    """One line of the fast_p chart. `series` picks its colour; `is_best` dashes it."""

    title: str
    series: int
    is_best: bool
    points: tuple[FastP, ...]

    @property
    def sample(self) -> Picture:
        """Its look, for a legend."""
        return Picture((self.line([(0, 5), (100, 5)]),), 10)

    def line(self, points: Sequence[tuple[float, float]]) -> Stroke:
        return Stroke(points, f"series{self.series}", 1.75, (5, 4) if self.is_best else ())


@dataclass(frozen=True)
class Measurement:
    """One speed-up in time, of what `name` says."""

    name: str
    at: datetime
    speedup: Interval
    about: str = ""


def speedup_axis(speedups: Sequence[Interval], start: float, end: float) -> Scale:
    """The common log axis of bars; 1× is always on it."""
    return Scale(*log_domain([1.0, *(v for s in speedups for v in (s.low, s.high))]), start, end, is_log=True)


def bar(axis: Scale, speedup: Interval, middle: float) -> list[Mark]:
    """A bar from 1× to the estimate, with the interval as a whisker, `middle` pixels from the top."""
    colour = "series0" if speedup.estimate >= 1 else "series1"
    low, high, half = axis(speedup.low), axis(speedup.high), _BAR / 2
    ends = (axis(1.0), middle - half), (axis(speedup.estimate), middle + half)
    whisker = [Stroke(((x, middle - 5), (x, middle + 5)), width=1.5) for x in (low, high)]
    return [Box(*ends, colour, 0.7), Stroke(((low, middle), (high, middle)), width=1.5), *whisker]


def page_bar(axis: Scale, speedup: Interval) -> Picture:
    """One row of the page."""
    one = Stroke(((axis(1.0), 0), (axis(1.0), 20)), "faint")
    return Picture((*bar(axis, speedup, 10), one), 20)


def page_bar_ticks(axis: Scale) -> Picture:
    """The axis below those rows."""
    panel = Panel(axis, Scale(0, 1, 0, -1))
    return Picture(tuple(panel.columns(axis.ticks(), _times)), 22)


def bars(title: str, groups: Mapping[str, Sequence[tuple[str, Interval]]], baseline: str) -> Picture:
    """All bars in one file, under the names of their groups."""
    everything = [speedup for group in groups.values() for _, speedup in group]
    axis = speedup_axis(everything, 190, 680)
    marks, top = heading("Leaderboard", [(title, "faint")])
    first, top = top + 8, top + 20
    for name, group in groups.items():
        marks.append(Label((190, top + 18), name, is_bold=True))
        top += _ROW
        for label, speedup in group:
            middle = top + _ROW / 2
            end = axis(max(speedup.high, 1.0)) + 8
            number = Label((end, middle + 4), format_speedup(speedup).partition(" ")[0], size=11)
            marks += [*bar(axis, speedup, middle), Label((180, middle + 4), label, anchor="end"), number]
            top += _ROW
        top += 10
    panel = Panel(axis, Scale(0, 1, top, first))
    marks += [Stroke((panel.at(1, 0), panel.at(1, 1)), "faint"), Stroke((panel.at(0, 0), panel.at(1e30, 0)), "faint")]
    marks += panel.columns(axis.ticks(8), _times)
    marks.append(Label((435, top + 38), f"speed-up over {baseline}, 95 % interval (log axis)", "faint", "middle"))
    return Picture(tuple(marks), top + 54, _WIDTH, title)


def fast_p_chart(curves: Sequence[Curve]) -> Picture:
    """Share of samples (vertical) that are right and more than p times as fast as the baseline (horizontal)."""
    height = 240.0
    thresholds = [point.p for point in curves[0].points]
    panel = Panel(Scale(0, len(thresholds) - 1, FAR_LEFT, FAR_RIGHT), Scale(0, 1, height - 26, 14))
    marks = panel.rows((0, 0.25, 0.5, 0.75, 1), lambda share: f"{share:.0%}")
    marks += panel.columns(range(len(thresholds)), lambda i: f"{thresholds[int(i)]:g}")
    marks.append(Label((FAR_RIGHT, height + 8), "p, times as fast as the baseline", "faint", "end"))
    for curve in curves:
        at = [panel.at(i, point.share) for i, point in enumerate(curve.points)]
        marks.append(curve.line(at))
        for place, point in zip(at, curve.points, strict=True):
            about = f"{curve.title}: {point.faster} of {point.of} above {point.p:g}×"
            marks.append(Dots([place], f"series{curve.series}", 2.5 if curve.is_best else 3.5, about=about))
    return Picture(
        tuple(marks), height + 14, about="fast_p: samples that are right and faster than p times the baseline"
    )


def history_chart(measurements: Sequence[Measurement]) -> Picture:
    """Speed-ups over time for the page, oldest first, two at least: a line, named at its end, for each solution that
    was measured again; the others are faint dots."""
    names = list(dict.fromkeys(m.name for m in sorted(measurements, key=lambda m: -m.speedup.estimate)))
    again = [name for name in names if sum(m.name == name for m in measurements) > 1]
    height = max(220.0, 40 + 14.0 * (len(again) + 1))
    panel = _over_time(measurements, (FAR_LEFT, _NAMES_LEFT), (height - 26, 14))
    once = (m for m in measurements if m.name not in again)
    marks = [*_frame(panel), *_dates(panel, measurements)]
    marks += [Dots([_at(panel, m)], "faint", 3, about=m.about) for m in once]
    ends = []
    for series, name in enumerate(again):
        own = [m for m in measurements if m.name == name]
        marks += _series(panel, own, series)
        ends.append((*_at(panel, own[-1]), name))
    ends.sort(key=lambda end: end[1])
    for (x, y, name), row in zip(ends, spread([end[1] + 4 for end in ends], 14, height - 26), strict=True):
        marks += [Stroke(((x, y), (75.5, row - 4)), "faint"), Label((76, row), name)]
    return Picture(tuple(marks), height, about="speed-up of each solution over time")


def history(title: str, subtitle: str, measurements: Sequence[Measurement]) -> Picture:
    """Speed-ups over time as a file: a line for each name."""
    marks, top = heading(title, [(subtitle, "faint")])
    panel = _over_time(measurements, (70, 750), (top + 340, top + 24))
    marks += [*_frame(panel), panel.frame(), *_dates(panel, measurements)]
    marks.append(Label((16, top + 182), "speed-up over the baseline, 95 % interval", anchor="middle", tilt=90))
    entries: list[tuple[LegendSample, str]] = []
    for series, name in enumerate(dict.fromkeys(m.name for m in measurements)):
        marks += _series(panel, [m for m in measurements if m.name == name], series)
        entries.append((_sample(series), name))
    explained, bottom = legend(entries, 60, 750, top + 388)
    return Picture((*marks, *explained), bottom + 14, _WIDTH, f"{title}: {subtitle}")


def page_share(share: float) -> Picture:
    """A plain bar for a table's count."""
    return Picture((Box((0, 2), (100 * share, 10), "bad", 0.6),), 12)


def _over_time(measurements: Sequence[Measurement], across: tuple[float, float], down: tuple[float, float]) -> Panel:
    times = [m.at.timestamp() for m in measurements]
    speedups = [v for m in measurements for v in (m.speedup.low, m.speedup.high)]
    low, high = log_domain(speedups)
    if low < 3 and high > 1 / 3:  # as fast as the baseline; far from the data it would only squeeze them
        low, high = log_domain([1.0, *speedups])
    return Panel(Scale(min(times), max(times), *across), Scale(low, high, *down, is_log=True))


def _frame(panel: Panel) -> list[Mark]:
    one = [Stroke((panel.at(panel.across.low, 1), panel.at(panel.across.high, 1)), "faint", 1, (4, 3))]
    return [*panel.rows(panel.down.ticks(), _times), *(one if panel.down.low < 1 < panel.down.high else [])]


def _dates(panel: Panel, measurements: Sequence[Measurement]) -> list[Mark]:
    first, last = (choose(m.at for m in measurements) for choose in (min, max))
    end = f"{last:%H:%M}" if first.date() == last.date() else f"{last:%Y-%m-%d %H:%M}"
    y = panel.down.start + 18
    left, right = panel.across.start, panel.across.end
    return [Label((left, y), f"{first:%Y-%m-%d %H:%M}", "faint"), Label((right, y), end, "faint", "end")]


def _series(panel: Panel, own: Sequence[Measurement], series: int) -> list[Mark]:
    """A line through the estimates, each with its interval."""
    colour = f"series{series % 7}"
    marks: list[Mark] = [Stroke([_at(panel, m) for m in own], colour, 1.75)] if len(own) > 1 else []
    for m in own:
        x = panel.across(m.at.timestamp())
        marks.append(Stroke([(x, panel.down(m.speedup.low)), (x, panel.down(m.speedup.high))], colour, 1.75))
        marks.append(Dots([_at(panel, m)], colour, 3.5, _marker(series), about=m.about))
    return marks


def _sample(series: int) -> LegendSample:
    return lambda at: [Dots([at], f"series{series % 7}", 3.5, _marker(series))]


def _marker(series: int) -> str:
    """Choose another marker where colours begin anew."""
    return MARKERS[(series + series // 7) % 7]


def _at(panel: Panel, m: Measurement) -> tuple[float, float]:
    return panel.at(m.at.timestamp(), m.speedup.estimate)


def _times(speedup: float) -> str:
    return f"{speedup:g}×"
