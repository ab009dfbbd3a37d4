"""Draws the samples of an evaluation: all arms on one axis, then each by itself, with histograms beside them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from harness.records.spread import FENCE, LEAST_REACH
from harness.reports.pictures.canvas import FAINT, GRID, INK, STRIPE, Canvas, Look, looks
from harness.reports.pictures.heading import format_median, format_span, unit_of
from harness.reports.pictures.samples import ArmSamples, SamplesPicture

_LEFT, _ACROSS, _BETWEEN, _BESIDE = 0.78, 5.5, 0.14, 1.4
_COMMON, _CLOSE_UP, _GAP, _FOOT = 1.8, 1.05, 0.36, 0.9
_NAMES = 0.2
"""Widths and heights in inches."""

_MOST_VECTORS = 5000
"""Calls of an arm beyond which its dots become pixels within an SVG, or it would be megabytes."""
_FRESH: dict[str, Any] = {"color": INK, "linewidth": 0.9, "linestyle": (0, (4, 3)), "zorder": 1.5}
_FEW_ARMS, _FEW_CALLS, _MANY_OUTLIERS, _MOST_STRIPES = 3, 60, 60, 100


def samples_inches(picture: SamplesPicture) -> float:
    """The height of all panels and what explains them."""
    return _common_top(picture) + _COMMON + (_CLOSE_UP + _GAP) * len(picture.arms) + _FOOT


def draw_samples(on: Canvas, picture: SamplesPicture) -> None:
    styles = looks([(arm.name, arm.is_solution) for arm in picture.arms])
    top = _common_top(picture)
    over_time, beside = _panels(on, top, _COMMON, picture)
    _draw_common(over_time, beside, picture, styles)
    top += _COMMON + _GAP
    for arm in picture.arms:
        over_time, beside = _panels(on, top, _CLOSE_UP, picture)
        _draw_close_up(over_time, beside, arm, styles[arm.name])
        top += _CLOSE_UP + _GAP
    over_time.tick_params(axis="x", labelbottom=True)
    over_time.set_xlabel(f"call, in the order of measurement ({_extent(picture)})")
    beside.set_xlabel("calls")
    _explain(on.figure, picture)


def _common_top(picture: SamplesPicture) -> float:
    """Many arms' names need a row of their own."""
    return _GAP + (_NAMES if len(picture.arms) > _FEW_ARMS else 0)


def _panels(on: Canvas, top: float, height: float, picture: SamplesPicture) -> tuple[Any, Any]:
    """Calls over time, with a stripe for every other block, and beside it a histogram on the same axis."""
    over_time = on.panel(_LEFT, top, _ACROSS, height)
    beside = on.panel(_LEFT + _ACROSS + _BETWEEN, top, _BESIDE, height, sharey=over_time)
    for axes in (over_time, beside):
        axes.grid(axis="y", color=GRID, linewidth=0.5)
        axes.tick_params(labelsize=8)
    over_time.yaxis.set_label_coords(-0.095, 0.5)
    over_time.locator_params(axis="x", integer=True)
    over_time.set_xlim(-0.5, picture.calls - 0.5)
    over_time.tick_params(axis="x", labelbottom=False)
    beside.tick_params(axis="y", labelleft=False, length=0)
    beside.tick_params(axis="x", pad=1.5, labelsize=7)
    if len(picture.borders) <= _MOST_STRIPES:
        for first, end in list(pairwise(picture.borders))[::2]:
            over_time.axvspan(first - 0.5, end - 0.5, color=STRIPE, linewidth=0, zorder=0)
    for first in picture.fresh:
        over_time.axvline(first - 0.5, **_FRESH)
    return over_time, beside


def _draw_common(over_time: Any, beside: Any, picture: SamplesPicture, styles: Mapping[str, Look]) -> None:
    unit, size = unit_of(min(arm.median_ns for arm in picture.arms))
    if picture.is_log:
        over_time.set_yscale("log")
        for set_formatter in (over_time.yaxis.set_major_formatter, over_time.yaxis.set_minor_formatter):
            set_formatter(lambda value, _: f"{value:g}")
        over_time.yaxis.set_major_locator(_ticks(*picture.range_ns))
        over_time.yaxis.minorticks_off()
    for arm in picture.arms:
        look = styles[arm.name]
        _draw_calls(over_time, arm, look, size, label=arm.name)
        _draw_histogram(beside, [ns / size for ns in arm.ns], [edge / size for edge in picture.bins_ns], look)
    over_time.set_ylim(*(ns / size for ns in picture.range_ns))
    over_time.set_ylabel(f"{unit} per call")
    is_crowded = len(picture.arms) > _FEW_ARMS
    title = {"loc": "left", "size": 9, "weight": "bold", "pad": 20 if is_crowded else 6}
    over_time.set_title(f"all arms, {picture.metric}{', log axis' if picture.is_log else ''}", **title)
    beside.set_title("histogram", **title)
    corner = {"loc": "lower left", "bbox_to_anchor": (-0.02, 1)} if is_crowded else {"loc": "lower right"}
    names = {"ncols": len(picture.arms), "borderaxespad": 0, "handletextpad": 0, "columnspacing": 0.8, "fontsize": 8}
    over_time.legend(**{"bbox_to_anchor": (1, 0.99), **corner, **names})


def _draw_close_up(over_time: Any, beside: Any, arm: ArmSamples, look: Look) -> None:
    unit, size = unit_of(arm.median_ns)
    low, high = (ns / size for ns in arm.close_up_ns)
    _draw_calls(over_time, arm, look, size)
    _draw_beyond(over_time, arm, look, size)
    for block in arm.blocks:
        ends = (block.first - 0.5, block.end - 0.5)
        over_time.plot(ends, [block.ns / size] * 2, color=INK, linewidth=1.1, solid_capstyle="butt", zorder=3)
    for axes in (over_time, beside):
        axes.axhline(arm.typical_ns / size, color=look.colour, linewidth=1.0, zorder=2.5)
        if arm.interval:
            bounds = arm.interval.low / size, arm.interval.high / size
            axes.axhspan(*bounds, color=look.colour, alpha=0.25, linewidth=0, zorder=1)
    _draw_histogram(beside, [ns / size for ns in arm.ns], [edge / size for edge in arm.bins_ns], look)
    over_time.set_ylim(low, high)
    over_time.ticklabel_format(axis="y", useOffset=False)
    over_time.locator_params(axis="y", nbins=5)
    over_time.set_ylabel(unit)
    over_time.set_title(arm.name, loc="left", size=9, weight="bold", color=look.colour)
    beside.set_title(_facts(arm), loc="right", size=8, color=FAINT)


def _draw_calls(axes: Any, arm: ArmSamples, look: Look, size: float, label: str | None = None) -> None:
    is_pixels = len(arm.ns) > _MOST_VECTORS
    dot = 3.6 if len(arm.ns) <= _FEW_CALLS else 2.6
    ring = dot + 2 if sum(arm.outliers) <= _MANY_OUTLIERS else dot
    for is_outlier in (False, True):
        chosen = [
            (n, ns / size) for n, ns, out in zip(arm.numbers, arm.ns, arm.outliers, strict=True) if out == is_outlier
        ]
        axes.plot(
            [number for number, _ in chosen],
            [time for _, time in chosen],
            linestyle="",
            marker=look.marker,
            markersize=ring if is_outlier else dot,
            markerfacecolor="none" if is_outlier else look.colour,
            markeredgecolor=look.colour,
            markeredgewidth=0 if not is_outlier else 0.9 if ring > dot else 0.5,
            label=None if is_outlier else label,
            rasterized=is_pixels and not is_outlier,
            zorder=2,
        )


def _draw_beyond(axes: Any, arm: ArmSamples, look: Look, size: float) -> None:
    """A triangle at the border for every call that the close-up doesn't span."""
    low, high = arm.close_up_ns
    for border, marker, is_beyond in (
        (high, "^", [ns > high for ns in arm.ns]),
        (low, "v", [ns < low for ns in arm.ns]),
    ):
        numbers = [number for number, beyond in zip(arm.numbers, is_beyond, strict=True) if beyond]
        at = [border / size] * len(numbers)
        size_points = 6 if len(numbers) <= _MANY_OUTLIERS else 3
        style = {"linestyle": "", "marker": marker, "markersize": size_points, "color": look.colour}
        axes.plot(numbers, at, clip_on=False, zorder=4, **style)


def _draw_histogram(axes: Any, values: list[float], edges: list[float], look: Look) -> None:
    style = {"orientation": "horizontal", "color": look.colour}
    axes.hist(values, bins=edges, histtype="stepfilled", alpha=0.35, linewidth=0, **style)
    axes.hist(values, bins=edges, histtype="step", linewidth=0.9, **style)
    axes.locator_params(axis="x", nbins=3, integer=True)


def _extent(picture: SamplesPicture) -> str:
    """'12 blocks, 5.89 s of turns'."""
    blocks = len(picture.borders) - 1
    return f"{blocks} block{'' if blocks == 1 else 's'}, {format_span(picture.wall_ns)} of turns"


def _facts(arm: ArmSamples) -> str:
    """'median 10.834 ms [10.829, 10.838], 120 calls, 3 outliers (2.5 %)'."""
    count = sum(arm.outliers)
    outliers = f"{count} outlier{'' if count == 1 else 's'}" + (
        f" ({count / len(arm.ns) * 100:.1f} %)" if count else ""
    )
    beyond = f", {arm.beyond} beyond this panel" if arm.beyond else ""
    return f"median {format_median(arm.typical_ns, arm.interval)}, {len(arm.ns)} calls, {outliers}{beyond}"


def _ticks(low: float, high: float) -> Any:
    """Rounder where the axis is longer."""
    from matplotlib.ticker import LogLocator

    decades = math.log10(high / low)
    return LogLocator(subs=(1, 2, 3, 5, 7) if decades < 1 else (1, 2, 5) if decades < 2.5 else (1,))


def _explain(figure: Any, picture: SamplesPicture) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    dots: dict[str, Any] = {"linestyle": "", "color": FAINT}
    handles: list[Any] = [
        Line2D([], [], marker="o", markersize=3, **dots),
        Line2D([], [], marker="o", markersize=5, markerfacecolor="none", **dots),
        Line2D([], [], color=INK, linewidth=1.2),
        (Patch(facecolor=FAINT, alpha=0.3), Line2D([], [], color=FAINT, linewidth=1.2)),
        Patch(facecolor=STRIPE, edgecolor=GRID),
    ]
    words = [
        "call",
        f"outlier: {FENCE:g} IQR and {LEAST_REACH * 100:g} % beyond the quartiles",
        "block's mean" if picture.is_averaged else "block's median",
        "median of the blocks, 95 % interval",
        "every other block",
    ]
    if any(arm.beyond for arm in picture.arms):
        handles.append(Line2D([], [], marker="^", markersize=5, **dots))
        words.append("call beyond the panel")
    if picture.fresh:
        handles.append(Line2D([], [], **_FRESH))
        words.append("fresh processes")
    figure.legend(handles, words, loc="lower center", ncols=(len(words) + 1) // 2, fontsize=7.5, columnspacing=1.4)
