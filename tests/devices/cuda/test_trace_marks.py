"""Rows of a trace by the marks between them."""

from __future__ import annotations

from harness.devices.cuda.tracer import END, LEAD_IN, bounded
from harness.sandbox.wire.device import KernelRun


def rows(*names: str) -> list[KernelRun]:
    return [KernelRun(name, number, number + 1, 7, "kernel") for number, name in enumerate(names)]


def test_a_short_trace_is_kept_whole() -> None:
    assert len(bounded(rows("flush", LEAD_IN, "a", END), 10_000)) == 4


def test_a_few_kernels_with_endless_names_leave_out_no_other() -> None:
    kept = bounded(rows(LEAD_IN, *["a" * 60_000] * 80, "b", END), 1_000_000)
    assert [len(row.name) for row in kept[1:-2]] == [2000] * 80
    assert kept[-2].name == "b"


def test_of_a_long_trace_marks_and_what_lies_outside_are_kept() -> None:
    long = rows(LEAD_IN, *["a"] * 50, END, "hidden", LEAD_IN, "b", END, "hidden")
    kept = [row.name for row in bounded(long, 400)]
    assert kept == [LEAD_IN, "a", END, "hidden", LEAD_IN, END, "hidden"]
