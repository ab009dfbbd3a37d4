"""Strangers' texts show what they say and steer nothing."""

from __future__ import annotations

import pytest

from harness.reports.untrusted import harmless, one_line, quoted, shortened


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\x1b[31mb", "a�[31mb"),
        ("a\x00\x07\x7f\x9bb", "a����b"),
        ("if x:\u202e}\u2066", "if x:⟨U+202E⟩}⟨U+2066⟩"),
        ("zero\u200bwidth\ufeff", "zero⟨U+200B⟩width⟨U+FEFF⟩"),
        ("a\ud800b", "a?b"),
        ("line\r\nnext\ttab", "line\nnext\ttab"),
        ("lone\rreturn", "lone�return"),
        ("größer → 数 🙂", "größer → 数 🙂"),
    ],
)
def test_controls_and_reordering_marks_become_visible(text: str, shown: str) -> None:
    assert harmless(text) == shown


def test_a_name_is_one_line() -> None:
    assert one_line("a\n\n  b\tc ") == "a b c"


def test_every_line_of_a_quotation_is_marked() -> None:
    assert quoted("a\x1b\r\n::error::b\n", "| ") == "| a\ufffd\n| ::error::b\n| "


def test_the_middle_of_a_long_text_is_left_out_and_said() -> None:
    assert shortened("a" * 1500 + "b" * 1500, longest=1000) == (
        "a" * 500 + "\n… 2,000 characters left out …\n" + "b" * 500
    )


def test_a_text_that_fits_stays_whole() -> None:
    assert shortened("a" * 1000, longest=1000) == "a" * 1000
