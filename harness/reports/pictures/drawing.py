"""Draws every picture: marks on a sheet, which become SVG by our own hand and PNG by matplotlib's.

The page has its pictures where matplotlib is missing, in the reader's theme, as wide as a phone, under a policy that
forbids inline styles: matplotlib's SVG can do none of that, and a writer of five kinds of marks can. A PNG needs fonts
and a rasteriser, which matplotlib has, so it draws the same marks and lays out nothing.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from markupsafe import Markup, escape

from harness.errors import MachineError, UsageError, refused

Point = tuple[float, float]
"""Across and down from the upper left corner, in pixels; on the page `across` is in % of the width, so that a picture
stretches and its letters don't."""

COLOURS: Mapping[str, tuple[str, str]] = {
    "page": ("#ffffff", "#15171a"),
    "ink": ("#1b1e22", "#e4e6e9"),
    "faint": ("#5c646d", "#9aa3ad"),
    "grid": ("#dcdfe3", "#33383e"),
    "stripe": ("#f3f5f7", "#1c1f23"),
    "bad": ("#a8322a", "#ef8f86"),
    "series0": ("#0072b2", "#5db2e6"),
    "series1": ("#d55e00", "#f08a3c"),
    "series2": ("#009e73", "#41c9a0"),
    "series3": ("#cc79a7", "#e3a5c6"),
    "series4": ("#e69f00", "#f0bd4a"),
    "series5": ("#56b4e9", "#9ad3f5"),
    "series6": ("#7a5c3d", "#bd9a75"),
}
"""A colour has two shades, for the light and the dark theme. Series are M. Okabe and K. Ito's palette, which people
with any kind of colour vision can tell apart; its yellow is too light on white, and a brown stands for it."""

MARKERS = "os^DvPX"
"""Shapes say the same as colours, since a picture may be printed in grey. The letters are matplotlib's."""

_PLUS: Sequence[Point] = (
    *((-0.4, -1.1), (0.4, -1.1), (0.4, -0.4), (1.1, -0.4), (1.1, 0.4), (0.4, 0.4)),
    *((0.4, 1.1), (-0.4, 1.1), (-0.4, 0.4), (-1.1, 0.4), (-1.1, -0.4), (-0.4, -0.4)),
)
_CORNERS: Mapping[str, Sequence[Point]] = {
    "s": ((-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)),
    "^": ((0, -1), (1, 1), (-1, 1)),
    "v": ((0, 1), (-1, -1), (1, -1)),
    "D": ((0, -1.2), (1.2, 0), (0, 1.2), (-1.2, 0)),
    "P": _PLUS,
    "X": tuple((0.7 * (x - y), 0.7 * (x + y)) for x, y in _PLUS),
}
"""Shapes of markers with a radius of 1."""
_MANY_DOTS = 5000
"""More dots than these are drawn once a pixel: nobody sees the difference, and the file stays small."""
_PER_INCH, _DOTS_PER_INCH, _POINT = 96, 160, 0.75
"""Pixels of a picture and of its PNG in an inch, and matplotlib's points in a pixel."""
_FONT, _SIZE = "DejaVu Sans, Verdana, sans-serif", 12.0


@dataclass(frozen=True)
class Stroke:
    """`dash`: lengths of strokes and gaps in pixels."""

    points: Sequence[Point]
    colour: str = "ink"
    width: float = 1.0
    dash: tuple[float, ...] = ()


@dataclass(frozen=True)
class Box:
    corner: Point
    opposite: Point
    colour: str
    opacity: float = 1.0


@dataclass(frozen=True)
class Area:
    """A filled polygon. On the page its picture is stretched as a whole, and has no text."""

    points: Sequence[Point]
    colour: str
    opacity: float = 1.0


@dataclass(frozen=True)
class Dots:
    """`about` is shown when a pointer rests on them; the page has circles alone."""

    points: Sequence[Point]
    colour: str
    radius: float = 4.0
    marker: str = "o"
    is_hollow: bool = False
    is_ringed: bool = False
    """A border in the page's colour makes them stand out of lines."""
    about: str = ""


@dataclass(frozen=True)
class Label:
    """Text whose baseline is at the point, moved by `shift` pixels to the right; `tilt` turns it anticlockwise."""

    at: Point
    text: str
    colour: str = "ink"
    anchor: str = "start"
    shift: float = 0.0
    size: float = _SIZE
    is_bold: bool = False
    tilt: float = 0.0
    """An angle in degrees."""
    has_halo: bool = False
    """Lines that cross it stay off its letters."""


Mark = Stroke | Box | Area | Dots | Label


@dataclass(frozen=True)
class Picture:
    """`width` in pixels is None on the page. `about` is for those who can't see it; '' marks a mere ornament."""

    marks: tuple[Mark, ...]
    height: float
    width: float | None = None
    about: str = ""


def stylesheet(is_light: bool = False) -> str:
    """The colours of SVG's classes: those of the reader's theme, or always light ones."""
    lines = []
    for name, (light, dark) in COLOURS.items():
        colour = light if is_light else f"light-dark({light}, {dark})"
        lines.append(f".fill-{name} {{ fill: {colour}; }} .line-{name} {{ stroke: {colour}; }}\n")
    return "".join(lines)


def page_svg(picture: Picture) -> Markup:
    """An element of the page, which is as wide as its place there."""
    is_stretched = any(isinstance(mark, Area) for mark in picture.marks)
    children = [_svg_mark(mark, "" if is_stretched else "%") for mark in picture.marks]
    said = {"role": "img", "aria_label": picture.about} if picture.about else {"aria_hidden": "true"}
    if is_stretched:
        frame = {"class": "stretched", "viewBox": f"0 0 100 {picture.height:g}", "preserveAspectRatio": "none"}
        return _element("svg", {**frame, **said}, *children)
    return _element("svg", {"class": "chart", "height": f"{picture.height:.0f}", **said}, *children)


def file_svg(picture: Picture) -> str:
    """A file of its own, in light colours; the same picture gives the same text."""
    size = (picture.width or 0.0, picture.height)
    width, height = (f"{length:.0f}" for length in size)
    frame = {"xmlns": "http://www.w3.org/2000/svg", "width": width, "height": height}
    said = {
        "viewBox": f"0 0 {width} {height}",
        "font_family": _FONT,
        "font_size": f"{_SIZE:g}",
        "role": "img",
        "aria_label": picture.about,
    }
    children = [_svg_mark(mark, "") for mark in (Box((0, 0), size, "page"), *picture.marks)]
    drawn = _element("svg", {**frame, **said}, _element("style", {}, stylesheet(is_light=True)), *children)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{drawn}\n'


def save(pictures: Mapping[Path, Picture]) -> None:
    """Write each as .svg or .png, once all are drawn.

    Raises: UsageError for a file that is neither; MachineError, of a PNG where matplotlib is missing, and where a file
    can't be written.
    """
    for path in pictures:
        if path.suffix not in (".png", ".svg"):
            raise UsageError(f"--plot {path}: the file's name must end in .png or .svg")
    drawn = {path: _png(one) if path.suffix == ".png" else file_svg(one).encode() for path, one in pictures.items()}
    for path, content in drawn.items():
        with refused(MachineError, f"can't write {path}", "choose another place"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)


def _svg_mark(mark: Mark, unit: str) -> Markup:
    if isinstance(mark, Stroke):
        style = {"class": f"line-{mark.colour}"}
        if mark.width != 1:
            style["stroke_width"] = f"{mark.width:g}"
        if mark.dash:
            style["stroke_dasharray"] = " ".join(f"{length:g}" for length in mark.dash)
        if unit:  # a path can't be in %
            return Markup("").join(_segment(start, end, unit, style) for start, end in pairwise(mark.points))
        return _element(
            "polyline", {"points": _pairs(mark.points), "fill": "none", "stroke_linejoin": "round", **style}
        )
    if isinstance(mark, Box):
        (x1, x2), (y1, y2) = (sorted(pair) for pair in zip(mark.corner, mark.opposite, strict=True))
        place = {"x": f"{x1:.2f}{unit}", "y": f"{y1:.1f}", "width": f"{x2 - x1:.2f}{unit}", "height": f"{y2 - y1:.1f}"}
        return _element("rect", {**place, **_filled(mark.colour, mark.opacity)})
    if isinstance(mark, Area):
        return _element("polygon", {"points": _pairs(mark.points), **_filled(mark.colour, mark.opacity)})
    return _svg_label(mark, unit) if isinstance(mark, Label) else _svg_dots(mark, unit)


def _svg_label(label: Label, unit: str) -> Markup:
    x, y = label.at
    attributes = {"class": f"fill-{label.colour}", "x": f"{x:.2f}{unit}", "y": f"{y:.1f}"}
    if label.size != _SIZE:
        attributes["font_size"] = f"{label.size:g}"
    if label.shift:
        attributes["dx"] = f"{label.shift:g}"
    if label.anchor != "start":
        attributes["text_anchor"] = label.anchor
    if label.is_bold:
        attributes["font_weight"] = "bold"
    if label.tilt:
        attributes["transform"] = f"rotate({-label.tilt:.1f} {x:.1f} {y:.1f})"
    if label.has_halo:
        attributes["class"] += " line-page"
        attributes |= {"stroke_width": "4", "stroke_linejoin": "round", "paint_order": "stroke"}
    return _element("text", attributes, label.text)


def _svg_dots(dots: Dots, unit: str) -> Markup:
    style = {"class": f"fill-{dots.colour}"}
    if dots.is_hollow:
        style = {"class": f"line-{dots.colour}", "stroke_width": "0.9", "fill": "none"}
    elif dots.is_ringed:
        style = {"class": f"fill-{dots.colour} line-page", "stroke_width": "0.8"}
    if unit:
        title = [_element("title", {}, dots.about)] if dots.about else []
        places = ({"cx": f"{x:.2f}{unit}", "cy": f"{y:.1f}", "r": f"{dots.radius:g}"} for x, y in dots.points)
        return Markup("").join(_element("circle", {**style, **place}, *title) for place in places)
    digits = 1 if len(dots.points) <= _MANY_DOTS else 0
    once = dict.fromkeys((round(x, digits), round(y, digits)) for x, y in dots.points)
    return _element("path", {"d": "".join(_shape(dots.marker, x, y, dots.radius) for x, y in once), **style})


def _shape(marker: str, x: float, y: float, radius: float) -> str:
    if marker == "o":
        arc = f"a{radius:g} {radius:g} 0 1 0"
        return f"M{x - radius:g} {y:g}{arc} {2 * radius:g} 0{arc} {-2 * radius:g} 0"
    return "M" + "L".join(f"{x + radius * a:.1f} {y + radius * b:.1f}" for a, b in _CORNERS[marker]) + "z"


def _filled(colour: str, opacity: float) -> dict[str, str]:
    opaque = {} if opacity == 1 else {"fill_opacity": f"{opacity:g}"}
    return {"class": f"fill-{colour}", **opaque}


def _segment(start: Point, end: Point, unit: str, style: Mapping[str, str]) -> Markup:
    (x1, y1), (x2, y2) = start, end
    place = {"x1": f"{x1:.2f}{unit}", "y1": f"{y1:.1f}", "x2": f"{x2:.2f}{unit}", "y2": f"{y2:.1f}"}
    return _element("line", {**place, **style})


def _pairs(points: Iterable[Point]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in points)


def _element(name: str, attributes: Mapping[str, object], *children: str) -> Markup:
    """`<name …>children</name>`, everything escaped that isn't Markup. '_' in attribute names becomes '-'."""
    written = "".join(f' {key.replace("_", "-")}="{escape(value)}"' for key, value in attributes.items())
    return Markup(f"<{name}{written}>{''.join(escape(child) for child in children)}</{name}>")


def _png(picture: Picture) -> bytes:
    """Draw by matplotlib. Raises: MachineError where it is missing."""
    try:
        import matplotlib
        from matplotlib.figure import Figure
    except ImportError:
        raise MachineError("a PNG needs matplotlib: pip install 'kernel-harness[plots]'; an SVG doesn't") from None
    # DejaVu Sans comes with matplotlib; a '$' in a name is a '$'
    with matplotlib.rc_context({"font.family": "DejaVu Sans", "text.parse_math": False, "lines.scale_dashes": False}):
        figure = Figure(figsize=((picture.width or 0) / _PER_INCH, picture.height / _PER_INCH), facecolor="white")
        for order, mark in enumerate(picture.marks):
            figure.add_artist(_artist(mark, picture)).set_zorder(order)
        file = io.BytesIO()
        figure.savefig(file, format="png", dpi=_DOTS_PER_INCH)
        return file.getvalue()


def _artist(mark: Mark, on: Picture) -> Any:
    """The mark for matplotlib, which counts upwards from 0 to 1, and has no types here."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Polygon
    from matplotlib.patheffects import withStroke
    from matplotlib.text import Text

    def at(points: Sequence[Point]) -> list[Point]:
        return [(x / (on.width or 1), 1 - y / on.height) for x, y in points]

    colour: Any = COLOURS[mark.colour][0]
    if isinstance(mark, Stroke):
        dashes = (0, tuple(length * _POINT for length in mark.dash)) if mark.dash else "-"
        style: Any = {"linestyle": dashes, "solid_capstyle": "butt", "solid_joinstyle": "round"}
        return Line2D(*zip(*at(mark.points), strict=True), color=colour, linewidth=mark.width * _POINT, **style)
    if isinstance(mark, (Box, Area)):
        corners = mark.points if isinstance(mark, Area) else _corners(mark)
        return Polygon(at(corners), closed=True, facecolor=colour, alpha=mark.opacity, linewidth=0)
    if isinstance(mark, Dots):
        edge = COLOURS["page"][0] if mark.is_ringed else colour
        width = _POINT * (0.9 if mark.is_hollow or mark.is_ringed else 0)
        style = {"markeredgecolor": edge, "markeredgewidth": width, "markersize": 2 * mark.radius * _POINT}
        face = "none" if mark.is_hollow else colour
        points = zip(*at(mark.points), strict=True)
        return Line2D(*points, linestyle="", marker=mark.marker, markerfacecolor=face, **style)
    [(x, y)] = at([(mark.at[0] + mark.shift, mark.at[1])])
    turned: Any = {"rotation": mark.tilt, "rotation_mode": "anchor", "va": "baseline"}
    side = {"start": "left", "middle": "center", "end": "right"}[mark.anchor]
    text = Text(x, y, mark.text, color=colour, size=mark.size * _POINT, ha=side, **turned)
    text.set(weight="bold" if mark.is_bold else "normal")
    if mark.has_halo:
        text.set_path_effects([withStroke(linewidth=3, foreground="white")])
    return text


def _corners(box: Box) -> Sequence[Point]:
    (x1, y1), (x2, y2) = box.corner, box.opposite
    return (x1, y1), (x2, y1), (x2, y2), (x1, y2)
