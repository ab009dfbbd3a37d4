"""The board's bars as a file."""

from __future__ import annotations

import textwrap
from pathlib import Path

from harness.errors import UsageError
from harness.records.statistics import Interval
from harness.reports.leaderboard.board import Board
from harness.reports.leaderboard.precision import title_of
from harness.reports.pictures.drawing import require_picture_name, save
from harness.reports.pictures.speedups import bars
from harness.reports.untrusted import one_line


def save_plot(board: Board, path: Path) -> None:
    """Write the ranked solutions' speed-ups with intervals to `path`, whose ending decides: .png or .svg.

    Raises: UsageError for another ending or a board without a rank; MachineError where a PNG can't be made.
    """
    require_picture_name(path)
    groups: dict[str, list[tuple[str, Interval]]] = {}
    for problem in board.problems:
        ending = ", end to end" if problem.metric == "end_to_end" else ""
        for standing in problem.standings:
            if standing.rank is not None and standing.speedup:
                name = f"{one_line(problem.name)}, {title_of(standing.precision_class)}{ending}"
                label = f"{standing.rank}  {textwrap.shorten(one_line(standing.entry.solution), 24)}"
                groups.setdefault(name, []).append((label, standing.speedup))
    if not groups:
        raise UsageError("--plot: no solution is ranked, so there is nothing to draw")
    title = f"{one_line(board.environment.label)}, config {board.config.key}"
    save({path: bars(title, groups, board.baseline or "the baseline")})
