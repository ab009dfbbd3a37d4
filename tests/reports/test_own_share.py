"""The share of the device's time in own kernels, as reports show it, marked where it is low."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace

import pytest
from pydantic import TypeAdapter

from harness.model.evaluation import Evaluation
from harness.model.record import as_json
from harness.model.trace import Trace, TracedKernel
from harness.reports.compare import compare_report
from harness.reports.evaluation import show_report
from harness.reports.export import to_csv, to_kernelbench
from harness.reports.leaderboard.forms import leaderboard_json, leaderboard_markdown, leaderboard_table
from harness.reports.numbers import format_own_share
from harness.reports.run import run_report
from harness.reports.timing import timing_json
from harness.store.entry import entry_of
from tests.reports.leaderboard.samples import board, html_page, timed
from tests.reports.printed import printed
from tests.wording import tells


def traced(name: str, own_ns: int, speedup: float) -> Evaluation:
    kernels = (TracedKernel("own", "own", 1, own_ns), TracedKernel("gemm", "framework", 1, 10_000 - own_ns))
    return replace(timed(solution_name=name, speedup=speedup), trace=Trace("full", 1, kernels))


WHOLE, TAIL = traced("whole", 10_000, 2.0), traced("tail", 412, 1.5)
OLD = replace(timed(solution_name="old", speedup=1.2), trace=None)


@pytest.mark.parametrize(
    ("share", "text"), [(None, "—"), (0.1, "10 %"), (0.099, "9.9 % (low)"), (0.0, "<0.1 % (low)"), (1.0, "100 %")]
)
def test_what_is_below_a_tenth_is_marked(share: float | None, text: str) -> None:
    assert format_own_share(share) == text


def test_a_record_keeps_the_share_of_all_kernels_though_it_lists_some() -> None:
    trace = TAIL.trace
    assert trace is not None
    shortened = replace(trace, kernels=trace.kernels[:1])
    assert shortened.own_share == 0.0412
    assert TypeAdapter(Trace).validate_python(as_json(shortened)) == shortened
    written = as_json(trace)
    del written["own_share"]  # as of before it was kept
    assert TypeAdapter(Trace).validate_python(written).own_share == 0.0412


def test_no_share_is_more_than_all_of_it() -> None:
    with pytest.raises(ValueError, match="share"):
        Trace("full", 1, (), own_share=1.5)


def test_tables_have_it_where_any_solution_has() -> None:
    for table in (
        run_report([WHOLE, TAIL, OLD], False),
        compare_report([WHOLE, TAIL, OLD], frozenset(), False),
        leaderboard_table(board(WHOLE, TAIL, OLD)),
    ):
        lines = printed(table, width=100)
        assert any(" own" in line for line in lines)
        assert sum("whole" in line and "100 %" in line for line in lines) == 1
        assert sum("tail" in line and "4.1 % (low)" in line for line in lines) == 1
    assert not any(" own" in line for line in printed(run_report([OLD], False), width=100))


def test_a_leaderboards_other_forms_have_it() -> None:
    markdown = leaderboard_markdown(board(WHOLE, TAIL, OLD))
    rows = [row.split(" | ")[5] for row in markdown.splitlines() if row.startswith(("| 1", "| 2", "| 3"))]
    assert rows == ["100 %", "4.1 % (low)", "—"]
    standings = json.loads(leaderboard_json(board(WHOLE, TAIL, OLD)))["problems"][0]["standings"]
    assert [one["own_share"] for one in standings] == [1.0, 0.0412, None]
    page = html_page(WHOLE, TAIL, OLD)
    assert "Own kernels</button>" in page
    assert ">4.1 % (low)</td>" in page


def test_exports_and_statistics_have_it() -> None:
    rows = csv.DictReader(io.StringIO(to_csv([entry_of(TAIL), entry_of(OLD)])))
    assert [row["own_share"] for row in rows] == ["0.0412", ""]
    (samples,) = to_kernelbench([TAIL, OLD]).values()
    assert [sample["metadata"].get("own_share") for sample in samples] == [None, 0.0412]
    assert timing_json(TAIL)["own_share"] == 0.0412


def test_show_marks_it() -> None:
    assert tells(" ".join(printed(show_report(TAIL, ()), width=120)), "4.1 %", "low")
