"""The board as a picture, PNG or SVG: each problem's bars on a common log axis. Needs matplotlib."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from harness.errors import MachineError, UsageError
from harness.reports.leaderboard.board import Board, Standing
from harness.reports.leaderboard.precision import title_of
from harness.reports.numbers import format_speedup
from harness.reports.untrusted import one_line

_FASTER, _SLOWER, _INK, _FAINT = "#3f77b5", "#c8814f", "#1b1e22", "#5c646d"
_ROW_INCHES, _HEAD_INCHES, _WIDTH_INCHES = 0.3, 1.25, 8.0

_STYLE: Any = {
    "svg.hashsalt": "harness",  # the same board, the same file
    "font.size": 9,
    "text.color": _INK,
    "axes.edgecolor": _FAINT,
    "xtick.color": _FAINT,
    "text.parse_math": False,  # a '$' in a name is a '$'
}


def save_plot(board: Board, path: Path) -> None:
    """Write the ranked solutions' speed-ups with intervals to `path`, whose ending decides: .png or .svg.

    Raises: UsageError for another ending or a board without a rank; MachineError where matplotlib is missing.
    """
    if path.suffix.lower() not in (".png", ".svg"):
        raise UsageError(f"--plot {path}: the file's name must end in .png or .svg")
    groups = _groups(board)
    if not groups:
        raise UsageError("--plot: no solution is ranked, so there is nothing to draw")
    try:
        import matplotlib
        from matplotlib.figure import Figure
    except ImportError:
        raise MachineError("--plot needs matplotlib: pip install 'harness[plots]'") from None
    rows = sum(len(standings) + 1.4 for _, standings in groups)
    with matplotlib.rc_context(_STYLE):
        figure = Figure(figsize=(_WIDTH_INCHES, _HEAD_INCHES + _ROW_INCHES * rows), layout="constrained")
        axes = figure.add_subplot()
        _draw(axes, groups, board)
        without_date: dict[str, Any] = {"Date": None} if path.suffix.lower() == ".svg" else {}
        figure.savefig(path, dpi=160, facecolor="white", metadata=without_date)


def _groups(board: Board) -> list[tuple[str, list[Standing]]]:
    """Ranked standings by problem and class, with the title of each group."""
    groups: dict[tuple[str, str], list[Standing]] = {}
    for problem in board.problems:
        for standing in problem.standings:
            if standing.rank is not None:
                title = title_of(standing.precision_class) + (", end to end" if problem.metric == "end_to_end" else "")
                groups.setdefault((problem.name, title), []).append(standing)
    return [(f"{one_line(name)}, {title}", standings) for (name, title), standings in groups.items()]


def _draw(axes: Any, groups: Sequence[tuple[str, list[Standing]]], board: Board) -> None:
    """`axes`: matplotlib's, which has no types here."""
    row, labels, ends = 0.0, [], [1.0]
    for title, standings in groups:
        axes.text(0, row, title, transform=axes.get_yaxis_transform(), va="center", weight="bold")
        for standing in standings:
            row += 1
            ends += _bar(axes, row, standing)
            labels.append((row, f"{standing.rank}  {textwrap.shorten(one_line(standing.entry.solution), 32)}"))
        row += 1.4
    axes.axvline(1, color=_FAINT, linewidth=0.8)
    axes.set(xscale="log", xlim=(min(ends) / 1.3, max(ends) * 1.6), ylim=(row - 0.6, -0.8))
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}×")
    axes.set_yticks([at for at, _ in labels], [text for _, text in labels])
    axes.tick_params(axis="y", length=0, labelcolor=_INK)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.set_xlabel(f"speed-up over {board.baseline}, 95 % interval (log axis)", color=_FAINT)
    axes.set_title(f"{one_line(board.environment.label)}, config {board.config.key}", loc="left", size=9, color=_FAINT)


def _bar(axes: Any, row: float, standing: Standing) -> list[float]:
    """Draw one; returns how far it reaches."""
    speedup = standing.speedup
    if speedup is None:
        return []
    estimate = speedup.estimate
    axes.barh(row, estimate - 1, left=1, height=0.62, color=_FASTER if estimate >= 1 else _SLOWER)
    axes.plot([speedup.low, speedup.high], [row, row], color=_INK, linewidth=1.2, marker="|", markersize=6)
    axes.annotate(
        format_speedup(speedup).partition(" ")[0],
        (max(estimate, 1), row),
        xytext=(6, 0),
        textcoords="offset points",
        va="center",
        color=_INK,
    )
    return [speedup.low, speedup.high]
