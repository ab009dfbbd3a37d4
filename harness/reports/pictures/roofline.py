"""Draws what arms and solutions achieved: below the device's ceilings in a file, as a scatter on the page."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from harness.reports.numbers import format_median, format_rate, format_share, round_rate
from harness.reports.pictures.axes import Panel, Scale, log_domain, log_ticks, spread
from harness.reports.pictures.drawing import Box, Dots, Label, Mark, Picture, Stroke
from harness.reports.pictures.roof import Achieved, CeilingLine, Roof, Roofline, grouped, label_of
from harness.reports.untrusted import one_line

_LEFT, _RIGHT, _HEIGHT = 101.0, 749.0, 365.0
_ROW, _LABEL_ROW, _LABELS = 24.0, 17.0, 216.0
_TABLE_ROW, _AXIS = 18.0, 68.0
"""Widths and heights in pixels."""
_UNKNOWN = "no ceilings of the device in this record"


@dataclass(frozen=True)
class Rate:
    """The rate of a solution, or of the baseline: operations per byte, and per second."""

    name: str
    intensity: float
    rate: float
    is_baseline: bool
    about: str


def draw_roofline(roofline: Roofline, top: float) -> tuple[list[Mark], float]:
    """Draw below `top`, with the arms in numbers; returns the marks and where they end."""
    if roofline.intensity is None:
        marks, bottom = _bytes(roofline, top)
    else:
        marks, bottom = _roofs(roofline, roofline.intensity, top + 18)
    table, bottom = _numbers(roofline, bottom + _AXIS)
    return marks + table, bottom


def scatter(rates: Sequence[Rate], roofs: Sequence[Roof] = ()) -> Picture:
    """Rate over operations per byte, both on log axes, each point with its name, below the roofs that hold for it: for
    the page."""
    height = max(280.0, 40 + 18 * (len(rates) + 1))
    limits = {roof.bound.name: roof.bound.rate for roof in roofs if roof.bound}
    memory = max((roof.memory_bytes_per_s for roof in roofs), default=None)
    ridges = [limit / memory for limit in limits.values()] if memory else []
    across = Scale(*log_domain([*(one.intensity for one in rates), *ridges], margin=6), 11, 97, is_log=True)
    down = Scale(
        *log_domain([*(one.rate for one in rates), *limits.values()], margin=1.6), height - 26, 14, is_log=True
    )
    panel = Panel(across, down)
    marks = panel.rows(down.ticks(), lambda rate: round_rate(rate, ""))
    marks += [Label((11, 12), "FLOP/s", "faint"), Label((97, height - 8), "FLOP/byte", "faint", "end")]
    marks += panel.columns([tick for tick in across.ticks() if across(tick) < 74], lambda value: f"{value:g}")
    if memory:
        marks += _page_roofs(panel, memory, limits)
    highest_first = sorted(rates, key=lambda one: -one.rate)
    rows = spread([down(one.rate) + 4 for one in highest_first], 14, height - 26)
    for one, row in zip(highest_first, rows, strict=True):
        x, y = panel.at(one.intensity, one.rate)
        side = 1 if x < 50 else -1  # where there is more room for its name
        marks.append(Stroke(((x, y), (x + 3 * side, row - 4)), "faint"))
        marks.append(
            Dots([(x, y)], "ink" if one.is_baseline else "series0", is_hollow=one.is_baseline, about=one.about)
        )
        anchor = "start" if side > 0 else "end"
        marks.append(Label((x + 3 * side, row), one.name, anchor=anchor, shift=3 * side, has_halo=True))
    return Picture(tuple(marks), height, about="achieved floating-point rate over operations per byte of each solution")


def _page_roofs(panel: Panel, memory: float, limits: Mapping[str, float]) -> list[Mark]:
    """Memory's slope up to the highest arithmetic, whose limits are level lines with their names where they begin."""
    highest = max(limits.values(), default=panel.down.high)
    lowest = max(panel.across.low, panel.down.low / memory)
    marks: list[Mark] = [Stroke((panel.at(lowest, lowest * memory), panel.at(highest / memory, highest)), "faint", 1.5)]
    x, y = panel.at(lowest, lowest * memory)
    marks.append(Label((x, y - 8), f"memory {format_rate(memory, 'B/s')}", "faint", shift=14, has_halo=True))
    for name, rate in limits.items():
        start, level = panel.at(max(rate / memory, panel.across.low), rate)
        marks.append(Stroke(((start, level), (panel.across.end, level)), "faint", 1.5))
        text = f"{one_line(name)} {format_rate(rate, 'FLOP/s')}"
        marks.append(Label((start, level - 5), text, "faint", shift=4, has_halo=True))
    return marks


def _bytes(roofline: Roofline, top: float) -> tuple[list[Mark], float]:
    """A row for each arm, a line for each ceiling with its label in a row of its own above."""
    ceilings = sorted(roofline.roof.of_bytes, key=lambda one: one.rate) if roofline.roof else []
    top += 10 + _LABEL_ROW * max(1, len(ceilings))
    bottom = top + _ROW * (len(roofline.points) + 0.4)
    fastest = max(*(point.bytes_per_s for point in roofline.points), *(one.rate for one in ceilings))
    panel = Panel(Scale(0, 1.04 * fastest, _LEFT, _RIGHT), Scale(0, 1, bottom, top))
    ticks = panel.across.ticks()
    marks: list[Mark] = [Stroke(((x, bottom), (x, top)), "grid") for x in map(panel.across, ticks)]
    marks += [panel.frame(), *panel.columns(ticks, lambda rate: round_rate(rate, "B/s"))]
    for number, ceiling in enumerate(ceilings):
        assert roofline.roof is not None
        x, row = panel.across(ceiling.rate), top - _LABEL_ROW * (number + 0.5)
        marks.append(
            Stroke(((x, bottom), (x, row)), _colour(ceiling), 2.7 if roofline.roof.bounds_bytes(ceiling) else 1.3)
        )
        marks.append(Label((x - 6, row + 4), label_of([ceiling], "B/s"), _colour(ceiling), "end", size=10.5))
    if not ceilings:
        marks.append(Label((_LEFT, top - 6), _UNKNOWN, "faint", size=10.5))
    for number, point in enumerate(roofline.points):
        x, y = panel.across(point.bytes_per_s), top + _ROW * (number + 0.7)
        marks.append(Box((_LEFT, y - 1.5), (x, y + 1.5), point.arm.colour, 0.35))
        marks += [_dot(point, x, y), Label((_LEFT - 6, y + 4), point.arm.name, anchor="end")]
    least = format_rate(roofline.work.least_bytes, "B")
    words = f"bytes that a call can't do without ({least}), per second"
    return [*marks, Label(((_LEFT + _RIGHT) / 2, bottom + 38), words, anchor="middle")], bottom


def _roofs(roofline: Roofline, intensity: float, top: float) -> tuple[list[Mark], float]:
    rates = [point.operations_per_s or 0.0 for point in roofline.points]
    bottom = top + _HEIGHT
    (left, right), (low, high) = _ranges(intensity, rates, roofline.roof)
    panel = Panel(Scale(left, right, _LEFT, _RIGHT, True), Scale(low, high, bottom, top, True))
    columns = _decades(panel.across)
    marks: list[Mark] = [Stroke(((x, bottom), (x, top)), "grid") for x in map(panel.across, columns)]
    marks += panel.rows(_decades(panel.down), lambda rate: round_rate(rate, "FLOP/s"))
    marks += [panel.frame(), *panel.columns(columns, lambda value: f"{value:g}")]
    note = _UNKNOWN
    if roofline.roof:
        marks += _ceilings(panel, roofline.roof)
        bound = f" and {roofline.roof.bound.name}" if roofline.roof.bound else ""
        note = f"bold: what bounds the solution, memory{bound}"
    marks.append(Label((_LEFT + 8, top + 14), note, "faint", size=10.5, has_halo=True))
    x = panel.across(intensity)
    marks.append(Stroke(((x, bottom), (x, top)), "faint", 1, (1.5, 2.5)))
    marks.append(Label((x + 5, bottom - 7), f"{intensity:.3g} FLOP/B", "faint", size=10.5))
    marks += [_dot(point, x, panel.down(rate)) for point, rate in zip(roofline.points, rates, strict=True)]
    work = f"{format_rate(roofline.work.operations or 0, 'FLOP')} over {format_rate(roofline.work.least_bytes, 'B')}"
    words = f"floating-point operations per byte that a call can't do without ({work})"
    return [*marks, Label(((_LEFT + _RIGHT) / 2, bottom + 38), words, anchor="middle")], bottom


def _decades(scale: Scale) -> list[float]:
    whole = [10.0**n for n in range(math.ceil(math.log10(scale.low)), math.floor(math.log10(scale.high)) + 1)]
    return whole if len(whole) > 1 else log_ticks(scale.low, scale.high)


def _ranges(intensity: float, rates: list[float], roof: Roof | None) -> tuple[tuple[float, float], tuple[float, float]]:
    """The ranges of both axes: all ceilings, their corners and all points are inside, with room for labels."""
    if roof is None:
        return (intensity / 30, intensity * 30), (min(rates) / 5, max(rates) * 5)
    arithmetic = [ceiling.rate for ceiling in roof.arithmetic]
    memory = [ceiling.rate for ceiling in roof.memory]
    left = min(intensity, min(arithmetic) / max(memory)) / 20
    free = max(intensity, max(arithmetic) / min(memory))  # from here to the right edge there is room for labels
    right = left * (free / left) ** (1 / (1 - _LABELS / (_RIGHT - _LEFT)))
    bottom = min(min(rates) / 2.5, min(memory) * left / 1.5)
    return (left, right), (bottom, max(max(arithmetic), max(rates)) * 2.2)


def _ceilings(panel: Panel, roof: Roof) -> list[Mark]:
    left, right = panel.across.low, panel.across.high
    highest = max(ceiling.rate for ceiling in roof.arithmetic)
    fastest = max(ceiling.rate for ceiling in roof.memory)
    marks: list[Mark] = []
    for ceiling in roof.memory:
        ends = (panel.at(left, left * ceiling.rate), panel.at(highest / ceiling.rate, highest))
        marks.append(Stroke(ends, _colour(ceiling), 0.9, (4, 3) if ceiling.is_cache else ()))
    for ceiling in roof.arithmetic:
        marks.append(Stroke((panel.at(ceiling.rate / fastest, ceiling.rate), panel.at(right, ceiling.rate)), width=0.9))
    limit = roof.bound.rate if roof.bound else highest
    corner = panel.at(limit / roof.memory_bytes_per_s, limit)
    marks.append(Stroke((panel.at(left, left * roof.memory_bytes_per_s), corner, panel.at(right, limit)), width=2.7))
    return marks + _ceiling_labels(panel, roof)


def _ceiling_labels(panel: Panel, roof: Roof) -> list[Mark]:
    """Ceilings that lie within a line of text share a label."""
    upwards = _HEIGHT / math.log10(panel.down.high / panel.down.low)  # pixels a decade
    tilt = math.atan(upwards / ((_RIGHT - _LEFT) / math.log10(panel.across.high / panel.across.low)))
    close = 10 ** (15 / upwards)
    marks: list[Mark] = []
    for group in grouped(roof.arithmetic, close):
        at = (_RIGHT - 4, panel.down(group[0].rate) - 5)
        marks.append(Label(at, label_of(group, "FLOP/s"), anchor="end", size=10.5))
    start = panel.across.low * 1.35
    for group in grouped(roof.memory, close):
        is_cache = group[0].is_cache
        x, y = panel.at(start, start * (group[0] if is_cache else group[-1]).rate)
        away = 5.0 if is_cache else -14.0
        at = (x - math.sin(tilt) * away, y - math.cos(tilt) * away)
        turned = math.degrees(tilt)
        marks.append(Label(at, label_of(group, "B/s"), _colour(group[0]), size=10.5, tilt=turned, has_halo=True))
    return marks


def _colour(ceiling: CeilingLine) -> str:
    return "faint" if ceiling.is_cache else "ink"


def _dot(point: Achieved, x: float, y: float) -> Dots:
    return Dots([(x, y)], point.arm.colour, 5, point.arm.marker, is_ringed=True)


def _numbers(roofline: Roofline, top: float) -> tuple[list[Mark], float]:
    """A line for each arm: what the points stand for."""
    marks: list[Mark] = []
    heads = ("arm", "median of the blocks, 95 % interval", "achieved", "of its bound")
    for number, cells in enumerate([heads, *map(_cells, roofline.points)]):
        y = top + _TABLE_ROW * number
        for x, cell in zip((43, 230, 465, _RIGHT), cells, strict=True):
            anchor = "end" if x == _RIGHT else "start"
            marks.append(Label((x, y), cell, "ink" if number else "faint", anchor, size=10.5))
        marks += [_dot(roofline.points[number - 1], 24, y - 4)] if number else []
    return marks, top + _TABLE_ROW * (len(roofline.points) + 1)


def _cells(point: Achieved) -> tuple[str, str, str, str]:
    rates = [format_rate(point.bytes_per_s, "B/s")]
    if point.operations_per_s is not None:
        rates.insert(0, format_rate(point.operations_per_s, "FLOP/s"))
    share = "—" if point.share is None else f"{format_share(point.share)} of {point.bound}"
    return point.arm.name, format_median(point.arm.typical_ns, point.arm.interval), ", ".join(rates), share
