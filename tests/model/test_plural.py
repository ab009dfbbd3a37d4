"""Counts in words."""

from __future__ import annotations

from harness.model.plural import several


def test_one_is_singular() -> None:
    assert [several(count, "case") for count in (0, 1, 2)] == ["0 cases", "1 case", "2 cases"]
    assert several(1, "process", "processes") == "1 process"
    assert several(2, "process", "processes") == "2 processes"
