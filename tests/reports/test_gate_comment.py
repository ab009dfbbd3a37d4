"""Markdown for a comment or a job's summary."""

from __future__ import annotations

import re

from harness.reports.github import gate_markdown
from tests.reports.gates import ALLOWED, FINE, REGRESSED, WAIVED, finding, hostile, judged, report
from tests.wording import tells


def outside_code(markdown: str) -> str:
    """What is left once fenced blocks and code spans are taken out, as CommonMark finds them."""
    without_blocks = re.sub(r"^(`{3,})text\n.*?^\1$", "", markdown, flags=re.MULTILINE | re.DOTALL)
    return re.sub(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)", "", without_blocks)


def test_the_table_has_a_row_for_each_solution() -> None:
    text = gate_markdown(report(REGRESSED, WAIVED, FINE))
    assert text.startswith("### ❌ gate failed: 3 solutions, 1 failed, 2 passed\n")
    assert "| `relu` | `slow` | passed | 2.70× [2.50, 2.90] | 0.900× [0.890, 0.910] | ❌ failed |\n" in text
    assert "| `relu` | `waived` | passed | — | — | ✅ waived |\n" in text
    assert "| `relu` | `fine` | passed | — | — | ✅ passed |\n" in text


def test_what_decides_comes_before_what_is_allowed() -> None:
    text = gate_markdown(report(ALLOWED, REGRESSED))
    assert 0 < text.index("❌ `relu/slow`") < text.index("✅ `relu/allowed`")


def test_the_waiver_is_told() -> None:
    assert tells(gate_markdown(report(WAIVED)), "waived", "2026-12-31", "ann", "compiler bug 12")


def test_that_performance_was_not_judged_is_told() -> None:
    assert "not judged: no GPU" in gate_markdown(report(FINE, not_judged="no GPU"))


def test_a_solutions_words_stand_in_code_alone() -> None:
    left = outside_code(gate_markdown(hostile()))
    assert "gate failed" in left
    for word in ("script", "@octocat", "#1", "alert", "::", "@y", "</x>"):
        assert word not in left


def test_names_do_not_end_a_tables_cell() -> None:
    (row,) = [
        line for line in gate_markdown(hostile()).splitlines() if line.startswith("| ``") or line.startswith("| `<")
    ]
    assert len(re.findall(r"(?<!\\)\|", row)) == 7


def test_the_limit_holds_and_what_is_left_out_is_counted() -> None:
    many = [judged(f"solution_{n}", finding(details="ß" * 9000)) for n in range(200)]
    text = gate_markdown(report(*many))
    assert len(text.encode()) <= 65_536
    assert re.search(r"… \d+ more .*65,536 bytes\n$", text)
    assert text.count("\n```text\n") * 2 == text.count("```")  # no block is left open


def test_a_table_alone_may_be_too_long() -> None:
    text = gate_markdown(report(*(judged(f"s{n}") for n in range(1000))), limit_bytes=2000)
    assert len(text.encode()) <= 2000
    assert "left out" in text


def test_nothing_to_judge_has_no_table() -> None:
    text = gate_markdown(report(remarks=("0 of 5 solutions changed since main",)))
    assert text.startswith("### ✅ gate passed: nothing to judge\n")
    assert "|---|" not in text
    assert tells(text, "0 of 5", "main")
