"""The results of a solution over time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from harness.errors import UsageError
from harness.model.record import as_json
from harness.model.statistics import Interval
from harness.reports.blocks import Block, Column, ColumnOf, Section, Span, number, table_of, verdict_span
from harness.reports.numbers import format_moment, format_ms, format_speedup
from harness.reports.pictures.drawing import save
from harness.reports.pictures.speedups import Measurement, history
from harness.reports.terminal import reporting
from harness.reports.untrusted import one_line
from harness.store.entry import Entry, columns_of


@dataclass(frozen=True)
class Moment:
    """An evaluation among those before it. `change` is its speed-up over that of the one before, where that one was
    timed and their intervals are apart; 0.05 is 5 % faster."""

    entry: Entry
    change: float | None
    is_comparable: bool
    """True where this evaluation was timed and one before it was."""


SolutionHistory = Sequence[Moment]
"""Evaluations that may be compared, one at least, oldest first: one problem, solution, environment and config."""


def histories(entries: Sequence[Entry], limit: int | None = None) -> list[SolutionHistory]:
    """Entries, oldest first, by what may be compared; of each the newest `limit`."""
    groups: dict[tuple[str, ...], list[Entry]] = {}
    for entry in entries:
        groups.setdefault((entry.problem, entry.solution, entry.environment, entry.config), []).append(entry)
    return [list(_moments(group))[-limit if limit else None :] for _, group in sorted(groups.items())]


def history_json(series: SolutionHistory) -> Iterator[dict[str, Any]]:
    """A flat object per evaluation."""
    for moment in series:
        yield {**as_json(columns_of(moment.entry)), "change": moment.change}


@reporting
def history_report(found: Sequence[SolutionHistory]) -> Iterator[Block]:
    for series in found:
        latest = series[-1].entry
        name = Span(f"{latest.problem} / {latest.solution}", "strong")
        title = (name, Span(f" on {latest.environment_label}, config {latest.config}"))
        yield Section(title, [table_of(series, _COLUMNS)], is_inset=False)


def save_history_plot(found: Sequence[SolutionHistory], path: Path) -> None:
    """Write every series that was timed to `path`, whose ending decides: .png or .svg.

    Raises: UsageError for another ending or where nothing was timed; MachineError where a PNG can't be made.
    """
    measured = [(m.entry, interval) for s in found for m in s if (interval := m.entry.speedup)]
    if not measured:
        raise UsageError("--plot: none of these evaluations was timed, so there is nothing to draw")
    facts = [(one_line(e.solution), one_line(e.environment_label), f"config {e.config}") for e, _ in measured]
    shared = [values[0] for values in zip(*facts, strict=True) if len(set(values)) == 1]
    named = [", ".join(fact for fact in own if fact not in shared) or own[0] for own in facts]
    times = [datetime.fromisoformat(entry.started_at) for entry, _ in measured]
    drawn = [Measurement(*one) for one in zip(named, times, (interval for _, interval in measured), strict=True)]
    save({path: history(one_line(measured[0][0].problem), ", ".join(shared), drawn)})


def _moments(entries: Sequence[Entry]) -> Iterator[Moment]:
    before: dict[str | None, Interval] = {}
    for entry in entries:
        own, previous = entry.speedup, before.get(entry.baseline)
        apart = own is not None and previous is not None and (own.low > previous.high or own.high < previous.low)
        change = own.estimate / previous.estimate - 1 if own and previous and apart else None
        yield Moment(entry, change, own is not None and previous is not None)
        if own is not None:
            before[entry.baseline] = own


def _change(moment: Moment) -> Span:
    """'=' where the intervals overlap: no change is shown."""
    if moment.change is None:
        return Span("=" if moment.is_comparable else "")
    return Span(f"{moment.change:+.1%}", "good" if moment.change > 0 else "bad")


_COLUMNS: tuple[ColumnOf[Moment], ...] = (
    (Column("at (UTC)", wraps=False), lambda one: format_moment(one.entry.started_at)),
    (Column("commit", wraps=False), lambda one: (one.entry.commit or "—")[:7]),
    (Column("verdict"), lambda one: verdict_span(one.entry.verdict)),
    (number("ms", is_extra=True), lambda one: format_ms(one.entry.solution_ns)),
    (number("speed-up [95 %]"), lambda one: format_speedup(one.entry.speedup)),
    (number("change"), _change),
)
