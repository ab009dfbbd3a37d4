"""What all pictures have in common: figure, colours, heading, files. Needs matplotlib, which has no types here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.errors import MachineError
from harness.reports.pictures.heading import Heading


@dataclass(frozen=True)
class Look:
    """Of an arm. `marker` is one of matplotlib's."""

    colour: str
    marker: str


INK, FAINT, GRID, STRIPE = "#1b1e22", "#565d66", "#d9dde2", "#f3f5f7"

_COLOURS = ("#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7a5c3d")
"""M. Okabe and K. Ito's palette, which people with any kind of colour vision can tell apart; its yellow is too light on
white, and a brown stands for it."""

_MARKERS = ("s", "^", "D", "v", "P", "X")
"""Shapes say the same as colours: a picture may be printed in grey."""

ON_WHITE: Any = {"facecolor": "white", "edgecolor": "none", "pad": 0.6}
"""The box of a label that a line may cross."""

_SOLUTION = Look("#0072b2", "o")

WIDTH_INCHES = 8.0
_HEADING_INCHES, _LINE_INCHES, _DPI = 0.66, 0.17, 160

_STYLE: Any = {
    "svg.hashsalt": "harness",  # the same evaluation, the same file
    "font.family": "DejaVu Sans",  # matplotlib brings it: the same everywhere
    "font.size": 9,
    "text.color": INK,
    "axes.edgecolor": FAINT,
    "axes.labelcolor": INK,
    "axes.linewidth": 0.8,
    "xtick.color": FAINT,
    "ytick.color": FAINT,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "legend.frameon": False,
    "text.parse_math": False,  # a '$' in a name is a '$'
}


@dataclass(frozen=True)
class Canvas:
    """A figure below its heading. Panels stand at fixed places: a layout that adapts to its texts can fail."""

    figure: Any
    inches: float
    """The height below the heading."""

    def panel(self, left: float, top: float, width: float, height: float, **options: Any) -> Any:
        """Axes whose place and size are in inches, `top` from the heading downwards."""
        total = self.figure.get_figheight()
        bottom = self.inches - top - height
        place = (left / WIDTH_INCHES, bottom / total, width / WIDTH_INCHES, height / total)
        axes = self.figure.add_axes(place, **options)
        axes.spines[["top", "right"]].set_visible(False)
        axes.set_axisbelow(True)
        return axes


@contextmanager
def canvas(heading: Heading, inches: float) -> Iterator[Canvas]:
    """`inches` high below the heading. Raises: MachineError where matplotlib is missing."""
    try:
        import matplotlib
        from matplotlib.figure import Figure
    except ImportError:
        raise MachineError("pictures need matplotlib: pip install 'harness[plots]'") from None
    further_lines = (heading.verdict + heading.origin).count("\n")
    height = inches + _HEADING_INCHES + _LINE_INCHES * further_lines
    with matplotlib.rc_context(_STYLE):
        figure = Figure(figsize=(WIDTH_INCHES, height), facecolor="white")
        _write(figure, heading, height)
        yield Canvas(figure, inches)


def looks(arms: Sequence[tuple[str, bool]]) -> dict[str, Look]:
    """Of each arm, given with whether it is the solution; beyond the palette colours and markers begin anew."""
    others = [name for name, is_solution in arms if not is_solution]
    found = {name: Look(_COLOURS[i % len(_COLOURS)], _MARKERS[i % len(_MARKERS)]) for i, name in enumerate(others)}
    return found | {name: _SOLUTION for name, is_solution in arms if is_solution}


def save(on: Canvas, path: Path) -> None:
    """The path's ending decides. An SVG bears no date: it differs only where the picture does. Raises: OSError."""
    without_date: dict[str, Any] = {"Date": None} if path.suffix.lower() == ".svg" else {}
    on.figure.savefig(path, dpi=_DPI, facecolor="white", metadata=without_date)


def _write(figure: Any, heading: Heading, height: float) -> None:
    left, below = 0.1 / WIDTH_INCHES, 0.09
    for text, size, colour, weight in (
        (heading.title, 11, INK, "bold"),
        (heading.verdict, 9, INK, "normal"),
        (heading.origin, 8, FAINT, "normal"),
    ):
        figure.text(left, 1 - below / height, text, size=size, color=colour, weight=weight, va="top")
        below += 0.19 + _LINE_INCHES * text.count("\n")
