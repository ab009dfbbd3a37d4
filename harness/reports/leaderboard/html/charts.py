"""The board's pictures, drawn from derived numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise

from markupsafe import Markup

from harness.records.ranking import FastP
from harness.records.statistics import Interval
from harness.reports.leaderboard.html.svg import (
    LEFT,
    RIGHT,
    Scale,
    chart,
    dot,
    element,
    label,
    line,
    log_domain,
    log_ticks,
    spread,
)
from harness.reports.numbers import format_rate

_TOP, _BOTTOM = 14.0, 26.0
_LINE_OF_TEXT = 14.0


@dataclass(frozen=True)
class Curve:
    """One line of the fast_p chart. `series` picks its colour; `is_best` dashes it."""

    title: str
    series: int
    is_best: bool
    points: tuple[FastP, ...]


@dataclass(frozen=True)
class Point:
    """A rate that was achieved: `name` with its operations per byte and its rate, per second."""

    name: str
    intensity: float
    rate: float
    is_baseline: bool
    about: str


@dataclass(frozen=True)
class Measurement:
    """One speed-up in time."""

    solution: str
    at: datetime
    speedup: Interval
    about: str


def bar_axis(speedups: Sequence[Interval], ends: tuple[float, float] = (1.0, 99.0)) -> Scale:
    """The common log axis of a problem's bars; 1× is always on it."""
    low, high = log_domain([1.0, *(v for s in speedups for v in (s.low, s.high))])
    return Scale(low, high, *ends, is_log=True)


def bar(axis: Scale, speedup: Interval) -> Markup:
    """From 1× to the estimate, with the interval as a whisker."""
    one, end, height = axis(1.0), axis(speedup.estimate), 18
    kind = "bar faster" if speedup.estimate >= 1 else "bar slower"
    place = {"x": f"{min(one, end):.2f}%", "y": 4, "width": f"{abs(end - one):.2f}%", "height": height - 8}
    low, high = axis(speedup.low), axis(speedup.high)
    whisker = [line("whisker", low, height / 2, high, height / 2)]
    whisker += [line("whisker", x, 2, x, height - 2) for x in (low, high)]
    parts = [element("rect", {"class": kind, **place}), line("one", one, 0, one, height), *whisker]
    return element("svg", {"class": "track", "aria_hidden": "true", "height": height}, *parts)


def bar_ticks(axis: Scale) -> Markup:
    """The axis below the bars."""
    marks: list[Markup] = []
    for tick in log_ticks(axis.low, axis.high):
        marks += [line("tick", axis(tick), 0, axis(tick), 5), label("axis", axis(tick), 17, f"{tick:g}×", "middle")]
    return element("svg", {"class": "track", "aria_hidden": "true", "height": 22}, *marks)


def fast_p_chart(curves: Sequence[Curve]) -> Markup:
    """Share of samples (vertical) that are right and more than p times as fast as the baseline (horizontal)."""
    height = 240.0
    thresholds = [point.p for point in curves[0].points]
    across = Scale(0, len(thresholds) - 1, LEFT, RIGHT)
    down = Scale(0, 1, height - _BOTTOM, _TOP)
    parts = [_gridline(down(share), f"{share:.0%}") for share in (0, 0.25, 0.5, 0.75, 1)]
    parts += [label("axis", across(i), height - 8, f"{p:g}", "middle") for i, p in enumerate(thresholds)]
    for curve in curves:
        kind = f"curve s{curve.series}" + (" best" if curve.is_best else "")
        at = [(across(i), down(point.share)) for i, point in enumerate(curve.points)]
        parts += [line(kind, *a, *b) for a, b in pairwise(at)]
        for (x, y), point in zip(at, curve.points, strict=True):
            about = f"{curve.title}: {point.faster} of {point.of} above {point.p:g}×"
            parts.append(dot(f"point s{curve.series}", x, y, about, 2.5 if curve.is_best else 3.5))
    return chart("fast_p: the share of samples that are right and faster than p times the baseline", height, *parts)


def roofline(points: Sequence[Point]) -> Markup:
    """Rate over arithmetic intensity, both on log axes, each point with its name."""
    height = max(240.0, _TOP + _BOTTOM + 1.3 * _LINE_OF_TEXT * (len(points) + 1))
    low_x, high_x = log_domain([p.intensity for p in points], margin=10)
    low_y, high_y = log_domain([p.rate for p in points], margin=1.4)
    across = Scale(low_x, high_x, LEFT, RIGHT, is_log=True)
    down = Scale(low_y, high_y, height - _BOTTOM, _TOP, is_log=True)
    parts = [_gridline(down(rate), _short(rate)) for rate in log_ticks(low_y, high_y)]
    parts.append(label("axis", LEFT, _TOP - 2, "FLOP/s"))
    parts += [
        label("axis", across(x), height - 8, f"{x:g}", "middle") for x in log_ticks(low_x, high_x) if across(x) < 74
    ]
    parts.append(label("axis", RIGHT, height - 8, "FLOP/byte", "end"))
    highest_first = sorted(points, key=lambda p: -p.rate)
    rows = spread([down(p.rate) + 4 for p in highest_first], _LINE_OF_TEXT, height - _BOTTOM)
    for point, row in zip(highest_first, rows, strict=True):
        x, y = across(point.intensity), down(point.rate)
        parts.append(line("leader", x, y, x + 3, row - 4))
        parts.append(dot("point baseline" if point.is_baseline else "point s0", x, y, point.about))
        parts.append(label("name", x + 3, row, point.name, shift=3))
    return chart("achieved floating-point rate over operations per byte of each solution", height, *parts)


def history_chart(measurements: Sequence[Measurement]) -> Markup:
    """Speed-ups over time, oldest first, two at least: a line, named at its end, for each solution measured again; the
    others are faint dots."""
    names = list(dict.fromkeys(m.solution for m in sorted(measurements, key=lambda m: -m.speedup.estimate)))
    again = [name for name in names if sum(m.solution == name for m in measurements) > 1]
    height = max(220.0, _TOP + _BOTTOM + _LINE_OF_TEXT * (len(again) + 1))
    times = [m.at.timestamp() for m in measurements]
    across = Scale(min(times), max(times), LEFT, 74)
    low, high = log_domain([1.0, *(v for m in measurements for v in (m.speedup.low, m.speedup.high))])
    down = Scale(low, high, height - _BOTTOM, _TOP, is_log=True)
    parts = [_gridline(down(tick), f"{tick:g}×", end=74) for tick in log_ticks(low, high)]
    parts += _dates(measurements, across, height - 8)
    parts += [
        dot("point once", across(m.at.timestamp()), down(m.speedup.estimate), m.about, 3)
        for m in measurements
        if m.solution not in again
    ]
    last: list[tuple[float, float, str]] = []
    for series, name in enumerate(again):
        own = [(across(m.at.timestamp()), m) for m in measurements if m.solution == name]
        at = [(x, down(m.speedup.estimate)) for x, m in own]
        parts += [line(f"curve s{series % 6}", *a, *b) for a, b in pairwise(at)]
        for x, m in own:
            parts.append(line(f"curve s{series % 6}", x, down(m.speedup.low), x, down(m.speedup.high)))
            parts.append(dot(f"point s{series % 6}", x, down(m.speedup.estimate), m.about, 3.5))
        last.append((*at[-1], name))
    last.sort(key=lambda end: end[1])
    rows = spread([end[1] + 4 for end in last], _LINE_OF_TEXT, height - _BOTTOM)
    for (x, y, name), row in zip(last, rows, strict=True):
        parts.append(line("leader", x, y, 75.5, row - 4))
        parts.append(label("name", 76, row, name))
    return chart("speed-up of each solution over time", height, *parts)


def histogram(nanoseconds: Sequence[int], low: float, high: float, bins: int = 48) -> Markup:
    """The distribution of an arm's calls between `low` and `high`, the outermost bins holding what lies beyond."""
    counts = [0] * bins
    for value in nanoseconds:
        place = int((value - low) / (high - low) * bins) if high > low else bins // 2
        counts[min(max(place, 0), bins - 1)] += 1
    top = max(counts)
    columns = (f"M{i} 24V{24 - 23 * count / top:.1f}h.9V24z" for i, count in enumerate(counts) if count)
    size = {"class": "histogram", "viewBox": f"0 0 {bins} 24", "preserveAspectRatio": "none", "aria_hidden": "true"}
    return element("svg", size, element("path", {"d": "".join(columns)}))


def share_bar(share: float) -> Markup:
    """A plain bar for a table's count."""
    rect = element("rect", {"class": "bar plain", "x": 0, "y": 2, "width": f"{100 * share:.1f}%", "height": 8})
    return element("svg", {"class": "track", "aria_hidden": "true", "height": 12}, rect)


def _short(value: float) -> str:
    """A round number with its prefix: '50 T'."""
    number, _, prefix = format_rate(value, "").partition(" ")
    return f"{float(number):g} {prefix}".strip()


def _gridline(y: float, text: str, start: float = LEFT, end: float = RIGHT) -> Markup:
    return element("g", {}, line("grid", start, y, end, y), label("axis", start, y + 4, text, "end", -6))


def _dates(measurements: Sequence[Measurement], across: Scale, y: float) -> list[Markup]:
    first, last = measurements[0].at, measurements[-1].at
    shape = "%H:%M" if first.date() == last.date() else "%Y-%m-%d"
    left, right = (
        (f"{first:%Y-%m-%d %H:%M}", f"{last:%H:%M}") if shape == "%H:%M" else (f"{first:{shape}}", f"{last:{shape}}")
    )
    return [label("axis", across.start, y, left), label("axis", across.end, y, right, "end")]
