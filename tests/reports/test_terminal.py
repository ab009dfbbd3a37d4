"""Tables on terminals of any width."""

from __future__ import annotations

import pytest

from harness.reports.blocks import Column, Table, number
from harness.reports.terminal import Report
from tests.reports.printed import printed

TABLE = Table(
    (Column("solution", is_name=True), number("eager ms", is_extra=True), number("speed-up"), Column("what was seen")),
    [("one_copy", "10.82", "7.665× [7.649, 7.680]", "nothing to be said of it"), ("plain", "10.82", "1.35×", "")],
)


@pytest.mark.parametrize(
    ("width", "shown", "left_out"),
    [
        (100, "solution  eager ms               speed-up  what was seen", None),
        (46, "solution               speed-up  what was seen", "eager ms"),
        (38, "solution               speed-up", "eager ms, what was seen"),
    ],
)
def test_the_least_columns_go_first_and_are_named(width: int, shown: str, left_out: str | None) -> None:
    lines = printed(Report([TABLE]), width)
    assert lines[0].split() == shown.split()
    assert "7.665× [7.649, 7.680]" in lines[1]
    assert (" ".join(lines).partition("for: ")[2] or None) == left_out


def test_a_number_is_never_cut() -> None:
    table = Table((number("share"), number("of light")), [("98 %", "101.5 %")])
    for width in range(6, 20):
        assert "98 %" in printed(Report([table]), width)[1]


def test_columns_without_a_head_are_notes() -> None:
    table = Table((Column("solution"), Column("")), [("one", "something_that_has_no_room")])
    assert printed(Report([table]), 20)[-1].endswith("notes")
