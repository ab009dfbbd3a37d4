"""Scales, ticks and the frames that pictures have in common."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from harness.reports.pictures.drawing import Label, Mark, Point, Stroke

_SMALLEST = 1e-30
"""The least value that a log axis shows; its inverse is the largest."""
LETTER = 0.6
"""A letter's mean width, in units of its size."""


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

    def ticks(self, most: int = 6) -> list[float]:
        return (log_ticks if self.is_log else linear_ticks)(self.low, self.high, most)


@dataclass(frozen=True)
class Panel:
    """An area to draw values in: `across` from left to right, `down` from bottom to top."""

    across: Scale
    down: Scale

    def at(self, x: float, y: float) -> Point:
        return self.across(x), self.down(y)

    def frame(self) -> Stroke:
        """The left and the lower border."""
        left, bottom = self.across.start, self.down.start
        return Stroke(((left, self.down.end), (left, bottom), (self.across.end, bottom)), "faint", 0.8)

    def rows(self, ticks: Iterable[float], words: Callable[[float], str], size: float = 12) -> list[Mark]:
        """A line across for each tick, and its words left of it."""
        left, right = self.across.start, self.across.end
        lines: list[Mark] = [Stroke(((left, self.down(tick)), (right, self.down(tick))), "grid") for tick in ticks]
        return lines + [
            Label((left, self.down(tick) + size / 3), words(tick), "faint", "end", -6, size) for tick in ticks
        ]

    def columns(self, ticks: Iterable[float], words: Callable[[float], str], size: float = 12) -> list[Mark]:
        """A short line below for each tick, and its words under it."""
        bottom = self.down.start
        marks: list[Mark] = []
        for tick in ticks:
            x = self.across(tick)
            marks.append(Stroke(((x, bottom), (x, bottom + 4)), "faint", 0.8))
            marks.append(Label((x, bottom + 6 + size), words(tick), "faint", "middle", 0, size))
        return marks


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
    ticks: list[float] = []
    for steps in ((1, 1.5, 2, 3, 4, 5, 6, 8), (1, 2, 5), (1, 3), (1,)):
        ticks = [step * 10.0**e for e in exponents for step in steps if low <= step * 10.0**e <= high]
        if len(ticks) <= most:
            return ticks
    return ticks[:: math.ceil(len(ticks) / most)]


def linear_ticks(low: float, high: float, most: int = 6) -> list[float]:
    """Round values between the bounds, in steps of 1, 2 or 5 times a power of ten."""
    least = (high - low) / most
    power = 10.0 ** math.floor(math.log10(least))
    step = next(step * power for step in (1, 2, 5, 10) if step * power >= least * 0.999)
    return [number * step for number in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)]


def plain_words(ticks: Sequence[float]) -> Callable[[float], str]:
    """Numbers with as many decimals as tell the ticks apart."""
    step = min((b - a for a, b in pairwise(ticks)), default=1.0)
    digits = max(0, -math.floor(math.log10(step) + 1e-9))
    return lambda value: f"{value:.{digits}f}"


def spread(positions: Sequence[float], gap: float, limit: float) -> list[float]:
    """The positions, ascending, moved apart to `gap` at least and back until the last is within `limit`."""
    placed: list[float] = []
    for position in positions:
        placed.append(max(position, placed[-1] + gap) if placed else position)
    for i in reversed(range(len(placed))):
        placed[i] = min(placed[i], limit - gap * (len(placed) - 1 - i))
    return placed


LegendSample = Callable[[Point], list[Mark]]
"""Draws at a point what a legend explains."""


def legend(
    entries: Sequence[tuple[LegendSample, str]], left: float, right: float, top: float, size: float = 10
) -> tuple[list[Mark], float]:
    """Each sample before its words, in rows between `left` and `right` from `top` on; and where the last row is."""
    marks: list[Mark] = []
    x, y = left, top
    for sample, words in entries:
        width = 32 + LETTER * size * len(words)
        if x + width > right and x > left:
            x, y = left, y + 1.7 * size
        marks += [*sample((x + 10, y - size / 3)), Label((x + 26, y), words, size=size)]
        x += width + 8
    return marks, y


def heading(title: str, lines: Sequence[tuple[str, str]]) -> tuple[list[Mark], float]:
    """A bold title over lines of text with their colours; and where they end."""
    top = 22.0
    marks: list[Mark] = [Label((10, top), title, size=15, is_bold=True)]
    for text, colour in lines:
        top += 17
        marks.append(Label((10, top), text, colour, size=12 if colour == "ink" else 11))
    return marks, top
