"""SVG elements and scales. Horizontal positions are percentages, so that a chart stretches and its letters don't."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

_SMALLEST = 1e-30
"""On a log axis; its inverse is the largest."""

LEFT, RIGHT = 11.0, 97.0
"""Edges of a chart's plotting area in % of its width; left of it stand the labels of the vertical axis."""


def element(name: str, attributes: Mapping[str, object], *children: str) -> Markup:
    """`<name …>children</name>`, everything escaped that isn't Markup. '_' in attribute names becomes '-'."""
    pairs = (f' {key.replace("_", "-")}="{escape(value)}"' for key, value in attributes.items())
    inside = "".join(escape(child) for child in children)
    return Markup(f"<{name}{''.join(pairs)}>{inside}</{name}>")


def line(kind: str, x1: float, y1: float, x2: float, y2: float) -> Markup:
    """From (x1 %, y1 px) to (x2 %, y2 px), styled by the class `kind`."""
    place = {"x1": f"{x1:.2f}%", "y1": f"{y1:.1f}", "x2": f"{x2:.2f}%", "y2": f"{y2:.1f}"}
    return element("line", {"class": kind, **place})


def dot(kind: str, x: float, y: float, about: str, radius: float = 4) -> Markup:
    """A point whose tooltip is `about`."""
    place = {"cx": f"{x:.2f}%", "cy": f"{y:.1f}", "r": radius}
    return element("circle", {"class": kind, **place}, element("title", {}, about))


def label(kind: str, x: float, y: float, text: str, anchor: str = "start", shift: float = 0) -> Markup:
    """`shift`: pixels to the right of x."""
    place = {"x": f"{x:.2f}%", "y": f"{y:.1f}", "dx": shift, "text_anchor": anchor}
    return element("text", {"class": kind, **place}, text)


def chart(about: str, height: float, *children: Markup) -> Markup:
    """The picture; `about` is what a reader hears who doesn't see it."""
    return element("svg", {"class": "chart", "role": "img", "aria_label": about, "height": f"{height:.0f}"}, *children)


@dataclass(frozen=True)
class Scale:
    """Values from `low` to `high`, linear or logarithmic, to positions from `start` to `end`; what lies beyond, to the
    nearer end."""

    low: float
    high: float
    start: float
    end: float
    is_log: bool = False

    def __call__(self, value: float) -> float:
        if math.isnan(value):
            value = self.low
        value = min(max(value, self.low), self.high)
        low, high, at = (math.log(v) if self.is_log else v for v in (self.low, self.high, value))
        share = (at - low) / (high - low) if high > low else 0.5
        return self.start + share * (self.end - self.start)


def log_domain(values: Sequence[float], margin: float = 1.15) -> tuple[float, float]:
    """The range of positive values with a margin on both sides, at least a factor of two wide. Values that no log axis
    can show are passed over."""
    shown = [value for value in values if _SMALLEST < value < 1 / _SMALLEST] or [1.0]
    low, high = min(shown), max(shown)
    wider = max(margin, math.sqrt(2 / (high / low)) if high / low < 2 else margin)
    return low / wider, high * wider


def log_ticks(low: float, high: float, most: int = 6) -> list[float]:
    """Round values between the bounds: every 1, 2 and 5 where they are few, else powers of ten."""
    exponents = range(math.floor(math.log10(low)) - 1, math.ceil(math.log10(high)) + 1)
    for steps in ((1, 1.5, 2, 3, 4, 5, 6, 8), (1, 2, 5), (1, 3), (1,)):
        ticks = [step * 10.0**e for e in exponents for step in steps if low <= step * 10.0**e <= high]
        if len(ticks) <= most:
            return ticks
    stride = math.ceil(len(ticks) / most)
    return ticks[::stride]


def spread(positions: Sequence[float], gap: float, limit: float) -> list[float]:
    """The positions, ascending, moved apart to `gap` at least and back until the last is within `limit`."""
    placed: list[float] = []
    for position in positions:
        placed.append(max(position, placed[-1] + gap) if placed else position)
    for i in reversed(range(len(placed))):
        placed[i] = min(placed[i], limit - gap * (len(placed) - 1 - i))
    return placed
