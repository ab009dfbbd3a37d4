"""Histories: what changed, by intervals that are apart."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.errors import UsageError
from harness.model.statistics import Interval
from harness.model.verdict import Verdict
from harness.reports.history import histories, history_json, history_report, save_history_plot
from harness.store.entry import Entry, entry_of
from tests.examples import failed, passed, timing
from tests.reports.printed import printed as shown


def entry(minute: int, low: float | None, high: float = 0.0, **changes: Any) -> Entry:
    """Timed with the middle of the interval as estimate, or not timed at all."""
    facts: dict[str, Any] = {"id": f"e{minute}", "started_at": f"2026-11-21T10:{minute:02}:00.000+00:00"}
    if low is None:
        return replace(entry_of(failed("tiled")), **facts, **changes)
    speedup = Interval((low + high) / 2, low, high, 0.95)
    return replace(entry_of(passed(timing=timing())), **facts, speedup=speedup, **changes)


def changes(*entries: Entry) -> list[float | None]:
    (series,) = histories(entries)
    return [moment.change and round(moment.change, 6) for moment in series]


def printed(*entries: Entry) -> str:
    return "\n".join(shown(history_report(histories(entries))))


def test_a_change_is_told_where_intervals_are_apart() -> None:
    assert changes(entry(1, 1.9, 2.1), entry(2, 2.9, 3.1), entry(3, 1.4, 1.6)) == [None, 0.5, -0.5]


def test_overlapping_intervals_show_no_change() -> None:
    assert changes(entry(1, 1.9, 2.1), entry(2, 2.0, 2.4)) == [None, None]
    assert printed(entry(1, 1.9, 2.1), entry(2, 2.0, 2.4)).splitlines()[3].split()[-1] == "="


def test_a_failure_between_is_passed_over() -> None:
    assert changes(entry(1, 1.9, 2.1), entry(2, None), entry(3, 3.8, 4.2)) == [None, None, 1.0]


def test_another_environment_config_or_baseline_is_not_compared() -> None:
    other = entry(2, 5.0, 5.1, environment="ffffffff")
    assert len(histories([entry(1, 1.0, 1.1), other, entry(3, 5.0, 5.1, config="ffffffff")])) == 3
    assert changes(entry(1, 1.0, 1.1), entry(2, 5.0, 5.1, baseline="compile")) == [None, None]


def test_of_each_series_the_newest_are_shown_with_their_change() -> None:
    (series,) = histories([entry(1, 1.0, 1.0), entry(2, 2.0, 2.0), entry(3, 3.0, 3.0)], limit=1)
    assert [(moment.entry.id, moment.change) for moment in series] == [("e3", 0.5)]


def test_the_table_fits_eighty_columns() -> None:
    text = printed(
        entry(1, 1.23456, 1.23462),
        entry(2, 3.01, 3.02),
        entry(3, None, verdict=Verdict.WRONG_OUTPUT_TYPE),
        entry(4, 2.5, 2.6, commit="a49ed80c5a78"),
    )
    assert max(map(len, text.splitlines())) <= 80
    (last,) = [line for line in text.splitlines() if "10:04" in line]
    assert " ".join(last.split()) == "2026-11-21 10:04 a49ed80 passed 2.550× [2.500, 2.600] -15.4%"


def test_names_cannot_steer_the_terminal() -> None:
    assert "\x1b" not in printed(entry(1, 1.0, 1.1, problem="\x1b[2Jx", commit="\x1b[31m", environment_label="\x1b"))


def test_json_has_an_object_per_evaluation_with_its_change() -> None:
    (series,) = histories([entry(1, 1.0, 1.0), entry(2, 2.0, 2.0)])
    first, second = history_json(series)
    assert (first["change"], second["change"], second["verdict"], second["cases"]) == (
        None,
        1.0,
        "passed",
        ["full", "small"],
    )


def test_a_picture_is_written_where_there_is_something_to_draw(tmp_path: Path) -> None:
    path = tmp_path / "history.svg"
    save_history_plot(histories([entry(1, 1.0, 1.1), entry(2, 2.0, 2.2), entry(3, None)]), path)
    assert path.read_bytes()[:4] == b"<?xm"
    with pytest.raises(UsageError, match="timed"):
        save_history_plot(histories([entry(1, None)]), path)
