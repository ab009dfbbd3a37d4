"""Draws the samples of an evaluation: all arms on one axis, then each by itself, with histograms beside them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

from harness.model.plural import several
from harness.model.spread import FENCE, LEAST_REACH
from harness.reports.numbers import format_median, format_span, unit_of
from harness.reports.pictures.axes import LegendSample, Panel, Scale, legend, linear_ticks, plain_words
from harness.reports.pictures.calls import ArmSamples, Samples, counts
from harness.reports.pictures.drawing import Area, Box, Dots, Label, Mark, Point, Stroke

_LEFT, _ACROSS, _BETWEEN, _BESIDE = 75.0, 528.0, 14.0, 134.0
_COMMON, _CLOSE_UP, _GAP, _FOOT = 173.0, 101.0, 36.0, 96.0
"""Widths and heights in pixels."""
RIGHT = _LEFT + _ACROSS + _BETWEEN + _BESIDE

_FRESH = (4.0, 3.0)
_FEW_CALLS, _MANY_OUTLIERS, _MOST_STRIPES = 60, 60, 100


def draw_samples(samples: Samples, top: float) -> tuple[list[Mark], float]:
    """Draw below `top`; returns the marks and where they end."""
    arms = [(_dots(arm.colour, arm.marker, 2.6), arm.name) for arm in samples.arms]
    marks, top = legend(arms, _LEFT, RIGHT, top + _GAP - 10, 11)
    unit, size = unit_of(min(arm.median_ns for arm in samples.arms))
    top += 27
    title = f"all arms, {samples.metric}{', log axis' if samples.is_log else ''}"
    marks += [_title(title, top), Label((_LEFT + _ACROSS + _BETWEEN, top - 7), "histogram", is_bold=True)]
    low, high = (ns / size for ns in samples.range_ns)
    down = Scale(low, high, top + _COMMON, top, samples.is_log)
    marks += _panels(samples, samples.arms, down, size, [edge / size for edge in samples.bins_ns])
    marks.append(Label((16, top + _COMMON / 2), f"{unit} per call", anchor="middle", tilt=90))
    top += _COMMON + _GAP
    for arm in samples.arms:
        marks += _close_up(samples, arm, top)
        top += _CLOSE_UP + _GAP
    marks += _calls_axis(samples, top - _GAP)
    explained, bottom = legend(_explanations(samples), _LEFT, RIGHT, top + 28)
    return [*marks, *explained], bottom + 14


def histogram(arm: ArmSamples, height: float) -> list[Mark]:
    """The arm's calls by their time, from left to right, over the whole width of the page's picture."""
    found = counts(arm.ns, arm.bins_ns)
    steps = [(100 * i / len(found), height - (height - 1) * count / max(found)) for i, count in enumerate(found)]
    outline = [point for (x, y) in steps for point in ((x, y), (x + 100 / len(found), y))]
    return [Area(((0, height), *outline, (100, height)), arm.colour, 0.75)]


def _panels(samples: Samples, arms: Sequence[ArmSamples], down: Scale, size: float, edges: list[float]) -> list[Mark]:
    """Calls over time, with a stripe for every other block, and beside it a histogram on the same axis."""
    over_time = Panel(Scale(-0.5, samples.calls - 0.5, _LEFT, _LEFT + _ACROSS), down)
    columns = [counts([ns / size for ns in arm.ns], edges) for arm in arms]
    left = _LEFT + _ACROSS + _BETWEEN
    beside = Panel(Scale(0, 1.05 * max(map(max, columns)), left, RIGHT), down)
    ticks = down.ticks(6 if len(arms) > 1 else 5)
    words = (lambda value: f"{value:g}") if down.is_log else plain_words(ticks)
    marks: list[Mark] = []
    if len(samples.borders) <= _MOST_STRIPES:
        for first, end in list(pairwise(samples.borders))[::2]:
            marks.append(Box(over_time.at(first - 0.5, down.low), over_time.at(end - 0.5, down.high), "stripe"))
    marks += over_time.rows(ticks, words, 11)
    marks += [Stroke((beside.at(0, tick), (RIGHT, down(tick))), "grid") for tick in ticks]
    for arm in arms:
        marks += _interval(arm, down, size) if len(arms) == 1 else []
    for first in samples.fresh:
        x = over_time.across(first - 0.5)
        marks.append(Stroke(((x, down.start), (x, down.end)), dash=_FRESH))
    for arm, found in zip(arms, columns, strict=True):
        marks += [*_calls(arm, over_time, size), *_bars(arm, found, edges, beside)]
    whole = [tick for tick in linear_ticks(0, beside.across.high, 3) if tick == int(tick)]
    frames: list[Mark] = [over_time.frame(), beside.frame()]
    return marks + frames + beside.columns(whole, lambda value: f"{value:.0f}", 9)


def _close_up(samples: Samples, arm: ArmSamples, top: float) -> list[Mark]:
    unit, size = unit_of(arm.median_ns)
    low, high = (ns / size for ns in arm.close_up_ns)
    down = Scale(low, high, top + _CLOSE_UP, top)
    marks = _panels(samples, [arm], down, size, [edge / size for edge in arm.bins_ns])
    across = Scale(-0.5, samples.calls - 0.5, _LEFT, _LEFT + _ACROSS)
    for block in arm.blocks:
        y = down(block.ns / size)
        marks.append(Stroke(((across(block.first - 0.5), y), (across(block.end - 0.5), y)), width=1.5))
    radius = 4.0 if arm.beyond <= _MANY_OUTLIERS else 2.0
    bottom_ns, top_ns = arm.close_up_ns
    for marker, y, is_above in (("^", top, True), ("v", top + _CLOSE_UP, False)):
        calls = zip(arm.numbers, arm.ns, strict=True)
        beyond = [number for number, ns in calls if (ns > top_ns if is_above else ns < bottom_ns)]
        if beyond:
            marks.append(Dots([(across(number), y) for number in beyond], arm.colour, radius, marker))
    marks.append(Label((16, top + _CLOSE_UP / 2), unit, anchor="middle", tilt=90))
    return [*marks, _title(arm.name, top, arm.colour), Label((RIGHT, top - 7), _facts(arm), "faint", "end", size=10.5)]


def _interval(arm: ArmSamples, down: Scale, size: float) -> list[Mark]:
    """The median of the blocks as a line over both panels, and its interval as a band."""
    y = down(arm.typical_ns / size)
    band: list[Mark] = []
    if arm.interval:
        low, high = down(arm.interval.low / size), down(arm.interval.high / size)
        band = [Box((left, low), (right, high), arm.colour, 0.25) for left, right in _SIDES]
    return band + [Stroke(((left, y), (right, y)), arm.colour, 1.3) for left, right in _SIDES]


_SIDES = ((_LEFT, _LEFT + _ACROSS), (_LEFT + _ACROSS + _BETWEEN, RIGHT))


def _calls(arm: ArmSamples, panel: Panel, size: float) -> Iterable[Mark]:
    """Dots, and rings for outliers; what the panel doesn't span is left out."""
    radius = 2.4 if len(arm.ns) <= _FEW_CALLS else 1.7
    ring = radius + 1.7 if sum(arm.outliers) <= _MANY_OUTLIERS else radius
    for is_outlier in (False, True):
        calls = zip(arm.numbers, arm.ns, arm.outliers, strict=True)
        chosen = [(number, ns / size) for number, ns, is_far in calls if is_far == is_outlier]
        points = [panel.at(number, ns) for number, ns in chosen if panel.down.low <= ns <= panel.down.high]
        if points:
            marker = "o" if is_outlier else arm.marker
            yield Dots(points, arm.colour, ring if is_outlier else radius, marker, is_hollow=is_outlier)


def _bars(arm: ArmSamples, found: Sequence[int], edges: Sequence[float], panel: Panel) -> list[Mark]:
    """The histogram, upright: filled, and outlined to be seen behind another."""
    corners = [panel.at(0, edges[0])]
    for (low, high), count in zip(pairwise(edges), found, strict=True):
        corners += [panel.at(count, low), panel.at(count, high)]
    corners.append(panel.at(0, edges[-1]))
    return [Area(corners, arm.colour, 0.35), Stroke(corners, arm.colour, 1.2)]


def _title(text: str, top: float, colour: str = "ink") -> Label:
    return Label((_LEFT, top - 7), text, colour, is_bold=True)


def _calls_axis(samples: Samples, bottom: float) -> list[Mark]:
    across = Scale(-0.5, samples.calls - 0.5, _LEFT, _LEFT + _ACROSS)
    panel = Panel(across, Scale(0, 1, bottom, bottom - 1))
    ticks = [tick for tick in across.ticks(8) if tick == int(tick)]
    count = len(samples.borders) - 1
    blocks = several(count, "block")
    words = f"call, in the order of measurement ({blocks}, {format_span(samples.wall_ns)} of turns)"
    return [
        *panel.columns(ticks, lambda value: f"{value:.0f}", 11),
        Label((_LEFT + _ACROSS / 2, bottom + 36), words, anchor="middle"),
        Label((RIGHT - _BESIDE / 2, bottom + 36), "calls", anchor="middle"),
    ]


def _facts(arm: ArmSamples) -> str:
    """'median 10.834 ms [10.829, 10.838], 120 calls, 3 outliers (2.5 %)'."""
    count = sum(arm.outliers)
    share = f" ({count / len(arm.ns) * 100:.1f} %)" if count else ""
    beyond = f", {arm.beyond} beyond this panel" if arm.beyond else ""
    calls, outliers = several(len(arm.ns), "call"), several(count, "outlier")
    return f"median {format_median(arm.typical_ns, arm.interval)}, {calls}, {outliers}{share}{beyond}"


def _explanations(samples: Samples) -> list[tuple[LegendSample, str]]:
    entries: list[tuple[LegendSample, str]] = [
        (_dots("faint", "o", 2), "call"),
        (
            lambda at: [Dots([at], "faint", 3.5, is_hollow=True)],
            f"outlier: {FENCE:g} IQR and {LEAST_REACH * 100:g} % beyond the quartiles",
        ),
        (lambda at: [_dash(at, "ink", 1.5)], "block's mean" if samples.is_averaged else "block's median"),
        (lambda at: [_swatch(at, "faint", 0.3), _dash(at, "faint", 1.3)], "median of the blocks, 95 % interval"),
        (lambda at: [_swatch(at, "grid", 1), _swatch(at, "stripe", 1, 0.8)], "every other block"),
    ]
    if any(arm.beyond for arm in samples.arms):
        entries.append((_dots("faint", "^", 3.5), "call beyond the panel"))
    if samples.fresh:
        entries.append((lambda at: [_dash(at, "ink", 1, _FRESH)], "fresh processes"))
    return entries


def _dots(colour: str, marker: str, radius: float) -> LegendSample:
    return lambda at: [Dots([at], colour, radius, marker)]


def _dash(at: Point, colour: str, width: float, dash: tuple[float, ...] = ()) -> Stroke:
    return Stroke(((at[0] - 10, at[1]), (at[0] + 10, at[1])), colour, width, dash)


def _swatch(at: Point, colour: str, opacity: float, inset: float = 0) -> Box:
    x, y = at
    return Box((x - 10 + inset, y - 4 + inset), (x + 10 - inset, y + 4 - inset), colour, opacity)
