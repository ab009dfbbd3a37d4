"""Draws what each arm achieved below the device's ceilings."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from harness.reports.numbers import format_rate, format_share
from harness.reports.pictures.canvas import FAINT, GRID, INK, ON_WHITE, Canvas, Look, looks
from harness.reports.pictures.heading import format_median
from harness.reports.pictures.roof import Roof
from harness.reports.pictures.roofline import Point, RooflinePicture, grouped, label_of

_LEFT, _ACROSS, _ROOF = 1.05, 6.75, 3.8
_STRIP, _LABEL_ROW = 0.24, 0.18
_LABEL, _LINE = 2.25, 0.15
_AXIS, _ROW, _FOOT = 0.62, 0.19, 0.2
"""Widths and heights in inches."""

_CEILING, _CACHE = "#3b4148", "#98a0aa"
_UNKNOWN = "no ceilings of the device in this record"


def roofline_inches(picture: RooflinePicture) -> float:
    """The height of the panel, its axis, and a line for each arm."""
    return _panel_bottom(picture) + _AXIS + _ROW * (len(picture.points) + 1) + _FOOT


def draw_roofline(on: Canvas, picture: RooflinePicture) -> None:
    styles = looks([(point.arm, point.is_solution) for point in picture.points])
    if picture.intensity is None:
        _draw_bytes(on, picture, styles)
    else:
        _draw_roof(on, picture, picture.intensity, styles)
    _list_points(on, picture, styles)


def _panel_bottom(picture: RooflinePicture) -> float:
    if picture.intensity is not None:
        return 0.15 + _ROOF
    return _strips_top(picture) + _STRIP * (len(picture.points) + 0.4)


def _strips_top(picture: RooflinePicture) -> float:
    return 0.1 + _LABEL_ROW * (len(picture.roof.of_bytes) if picture.roof else 1)


def _draw_bytes(on: Canvas, picture: RooflinePicture, styles: Mapping[str, Look]) -> None:
    """A row for each arm, a line for each ceiling with its label in a row of its own above."""
    top = _strips_top(picture)
    height = _panel_bottom(picture) - top
    axes = on.panel(_LEFT, top, _ACROSS, height)
    if picture.roof:
        _draw_byte_ceilings(axes, picture.roof, height)
    else:
        axes.set_title(_UNKNOWN, loc="left", size=8, color=FAINT)
    for number, point in enumerate(picture.points):
        look = styles[point.arm]
        style = {"color": look.colour, "linewidth": 2.2, "alpha": 0.35, "solid_capstyle": "butt"}
        axes.plot([0, point.bytes_per_s], [number] * 2, **style)
        _draw_point(axes, point.bytes_per_s, number, look)
    ceilings = picture.roof.of_bytes if picture.roof else ()
    axes.set_xlim(0, 1.04 * max(*(point.bytes_per_s for point in picture.points), *(one.rate for one in ceilings)))
    axes.set_ylim(len(picture.points) - 0.3, -0.7)
    axes.set_yticks(range(len(picture.points)), [point.arm for point in picture.points])
    axes.tick_params(axis="y", length=0)
    axes.xaxis.set_major_formatter(lambda rate, _: _round_rate(rate, "B/s"))
    axes.grid(axis="x", color=GRID, linewidth=0.5)
    least = format_rate(picture.work.least_bytes, "B")
    axes.set_xlabel(f"bytes that a call can't do without ({least}), per second")


def _draw_byte_ceilings(axes: Any, roof: Roof, height: float) -> None:
    """`height`: of the axes, in inches. The one that bounds the solution is bold."""
    ceilings = sorted(roof.of_bytes, key=lambda one: one.rate)
    for number, ceiling in enumerate(ceilings):
        colour = _CACHE if ceiling.is_cache else _CEILING
        width = 2 if roof.bounds_bytes(ceiling) else 1
        row = 1 + (0.04 + _LABEL_ROW * (number + 0.5)) / height
        place = {"transform": axes.get_xaxis_transform(), "color": colour}
        axes.plot([ceiling.rate] * 2, [0, row], linewidth=width, clip_on=False, **place)
        axes.text(ceiling.rate, row, f"{label_of([ceiling], 'B/s')}  ", size=8, ha="right", va="center", **place)


def _draw_roof(on: Canvas, picture: RooflinePicture, intensity: float, styles: Mapping[str, Look]) -> None:
    axes = on.panel(_LEFT, 0.15, _ACROSS, _ROOF, xscale="log", yscale="log")
    rates = [point.operations_per_s or 0.0 for point in picture.points]
    (left, right), (bottom, top) = _ranges(intensity, rates, picture.roof)
    axes.set(xlim=(left, right), ylim=(bottom, top))
    axes.grid(color=GRID, linewidth=0.5)
    axes.minorticks_off()
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.yaxis.set_major_formatter(lambda rate, _: _round_rate(rate, "FLOP/s"))
    work = f"{format_rate(picture.work.operations or 0, 'FLOP')} over {format_rate(picture.work.least_bytes, 'B')}"
    axes.set_xlabel(f"floating-point operations per byte that a call can't do without ({work})")
    if picture.roof:
        _draw_ceilings(axes, picture.roof)
    note = _bold_words(picture.roof) if picture.roof else _UNKNOWN
    axes.text(0.012, 0.975, note, transform=axes.transAxes, va="top", size=8, color=FAINT, bbox=ON_WHITE)
    axes.axvline(intensity, color=FAINT, linewidth=0.8, linestyle=":")
    axes.annotate(
        f"{intensity:.3g} FLOP/B", (intensity, bottom), xytext=(4, 5), textcoords="offset points", size=8, color=FAINT
    )
    for point, rate in zip(picture.points, rates, strict=True):
        _draw_point(axes, intensity, rate, styles[point.arm])


def _ranges(intensity: float, rates: list[float], roof: Roof | None) -> tuple[tuple[float, float], tuple[float, float]]:
    """Of both axes: all ceilings, the corners that they make, and all points are inside, with room for labels."""
    if roof is None:
        return (intensity / 30, intensity * 30), (min(rates) / 5, max(rates) * 5)
    arithmetic = [ceiling.rate for ceiling in roof.arithmetic]
    memory = [ceiling.rate for ceiling in roof.memory]
    left = min(intensity, min(arithmetic) / max(memory)) / 20
    free = max(intensity, max(arithmetic) / min(memory))  # from here to the right edge there is room for labels
    right = left * (free / left) ** (1 / (1 - _LABEL / _ACROSS))
    bottom = min(min(rates) / 2.5, min(memory) * left / 1.5)
    return (left, right), (bottom, max(max(arithmetic), max(rates)) * 2.2)


def _draw_ceilings(axes: Any, roof: Roof) -> None:
    left, right = axes.get_xlim()
    highest = max(ceiling.rate for ceiling in roof.arithmetic)
    fastest = max(ceiling.rate for ceiling in roof.memory)
    for ceiling in roof.memory:
        colour, style = (_CACHE, "--") if ceiling.is_cache else (_CEILING, "-")
        ends = (left, highest / ceiling.rate)
        axes.plot(ends, [end * ceiling.rate for end in ends], color=colour, linewidth=0.9, linestyle=style)
    for ceiling in roof.arithmetic:
        axes.plot((ceiling.rate / fastest, right), [ceiling.rate] * 2, color=_CEILING, linewidth=0.9)
    _label_ceilings(axes, roof)
    limit = roof.bound.rate if roof.bound else highest
    corner = limit / roof.memory_bytes_per_s
    envelope = [(left, left * roof.memory_bytes_per_s), (corner, limit), (right, limit)]
    axes.plot([x for x, _ in envelope], [y for _, y in envelope], color=INK, linewidth=2, solid_joinstyle="round")


def _label_ceilings(axes: Any, roof: Roof) -> None:
    (left, right), (bottom, top) = axes.get_xlim(), axes.get_ylim()
    upwards, across = _ROOF / math.log10(top / bottom), _ACROSS / math.log10(right / left)  # inches a decade
    tilt = math.atan(upwards / across)
    start = left * 1.35
    for group in grouped(roof.arithmetic, 10 ** (_LINE / upwards)):
        text = label_of(group, "FLOP/s")
        place = {"xytext": (-3, 3), "textcoords": "offset points", "ha": "right"}
        axes.annotate(text, (right, group[0].rate), size=8, color=_CEILING, **place)
    for group in grouped(roof.memory, 10 ** (_LINE / upwards)):
        is_cache = group[0].is_cache
        away = 3.5 if is_cache else -3.5
        axes.annotate(
            label_of(group, "B/s"),
            (start, start * (group[0] if is_cache else group[-1]).rate),
            xytext=(-math.sin(tilt) * away, math.cos(tilt) * away),
            textcoords="offset points",
            rotation=math.degrees(tilt),
            rotation_mode="anchor",
            va="bottom" if is_cache else "top",
            bbox=ON_WHITE,
            size=8,
            color=_CACHE if is_cache else _CEILING,
        )


def _draw_point(axes: Any, x: float, y: float, look: Look) -> None:
    axes.plot(
        [x],
        [y],
        linestyle="",
        marker=look.marker,
        markersize=7.5,
        color=look.colour,
        markeredgecolor="white",
        markeredgewidth=0.8,
        zorder=5,
    )


def _bold_words(roof: Roof) -> str:
    return f"bold: what bounds the solution, memory{f' and {roof.bound.name}' if roof.bound else ''}"


def _round_rate(rate: float, unit: str) -> str:
    """'10 TFLOP/s': a tick's."""
    number, _, rest = format_rate(rate, unit).partition(" ")
    return f"{float(number):g} {rest}" if rate else "0"


def _list_points(on: Canvas, picture: RooflinePicture, styles: Mapping[str, Look]) -> None:
    """A line for each arm: what the points stand for, in numbers."""
    height = _ROW * (len(picture.points) + 1)
    axes = on.panel(0.1, on.inches - height - _FOOT / 2, 7.8, height)
    axes.set(xlim=(0, 7.8), ylim=(len(picture.points) + 0.5, -0.5))
    axes.set_axis_off()
    heads = ("arm", "median of the blocks, 95 % interval", "achieved", "of its bound")
    for number, cells in enumerate([heads, *(_cells(point, picture) for point in picture.points)]):
        for at, cell in zip((0.35, 2.3, 4.75, 7.75), cells, strict=True):
            colour = INK if number else FAINT
            axes.text(at, number, cell, size=8, color=colour, va="center", ha="right" if at > 7 else "left")
    for number, point in enumerate(picture.points, start=1):
        _draw_point(axes, 0.15, number, styles[point.arm])


def _cells(point: Point, picture: RooflinePicture) -> tuple[str, str, str, str]:
    rates = [format_rate(point.bytes_per_s, "B/s")]
    if point.operations_per_s is not None:
        rates.insert(0, format_rate(point.operations_per_s, "FLOP/s"))
    share = "—" if point.share is None else f"{format_share(point.share)} of {point.bound}"
    return point.arm, format_median(point.typical_ns, point.interval), ", ".join(rates), share
