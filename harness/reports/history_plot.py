"""Speed-ups over time as a picture. Needs matplotlib."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from harness.errors import MachineError, UsageError
from harness.reports.history import Series, interval_of
from harness.reports.untrusted import harmless

_STYLE: Any = {"svg.hashsalt": "harness", "font.size": 9, "text.parse_math": False}


def save_history_plot(found: Sequence[Series], path: Path) -> None:
    """Write every series that was timed to `path`, whose ending decides: .png or .svg.

    Raises: UsageError for another ending or where nothing was timed; MachineError where matplotlib is missing.
    """
    if path.suffix.lower() not in (".png", ".svg"):
        raise UsageError(f"--plot {path}: the file's name must end in .png or .svg")
    timed = [series for series in found if any(interval_of(moment.entry) for moment in series.moments)]
    if not timed:
        raise UsageError("--plot: none of these evaluations was timed, so there is nothing to draw")
    try:
        import matplotlib
        from matplotlib.figure import Figure
    except ImportError:
        raise MachineError("--plot needs matplotlib: pip install 'harness[plots]'") from None
    with matplotlib.rc_context(_STYLE):
        figure = Figure(figsize=(8.0, 4.5), layout="constrained")
        _draw(figure.add_subplot(), timed)
        without_date: dict[str, Any] = {"Date": None} if path.suffix.lower() == ".svg" else {}
        figure.savefig(path, dpi=160, facecolor="white", metadata=without_date)


def _draw(axes: Any, found: Sequence[Series]) -> None:
    for series in found:
        points = [(m.entry, interval) for m in series.moments if (interval := interval_of(m.entry))]
        times = [datetime.datetime.fromisoformat(entry.started_at) for entry, _ in points]
        estimates = [interval.estimate for _, interval in points]
        errors = [
            [interval.estimate - interval.low for _, interval in points],
            [interval.high - interval.estimate for _, interval in points],
        ]
        latest = series.latest
        label = harmless(f"{latest.solution}, {latest.environment_label}, config {latest.config}")
        axes.errorbar(times, estimates, yerr=errors, marker="o", markersize=4, capsize=2, linewidth=1, label=label)
    axes.set_yscale("log")
    for set_formatter in (axes.yaxis.set_major_formatter, axes.yaxis.set_minor_formatter):
        set_formatter(lambda speedup, _: f"{speedup:.4g}×")
    low, high = axes.get_ylim()
    if low <= 1 <= high:  # as fast as the baseline; far from the data it would only squeeze them
        axes.axhline(1.0, color="#5c646d", linewidth=0.8, linestyle="--")
    axes.set_ylabel("speed-up over the baseline, 95 % interval")
    axes.set_title(harmless(found[0].latest.problem), loc="left")
    axes.legend(frameon=False, fontsize=8)
    axes.figure.autofmt_xdate()
