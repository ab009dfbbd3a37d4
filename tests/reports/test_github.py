"""GitHub's views of a gate: its runner's commands, and Markdown for a comment or a job's summary."""

from __future__ import annotations

import json
import re

from harness.model.gate import Location
from harness.reports.github import annotation_commands, gate_markdown, without_old_commands
from tests.reports.gates import (
    ALLOWED,
    BROKEN,
    FINE,
    NEW,
    REGRESSED,
    UNDECIDED,
    WAIVED,
    finding,
    hostile,
    judged,
    report,
)
from tests.wording import tells


def kinds(commands: list[str]) -> list[str]:
    return [command[2:].split()[0] for command in commands]


def test_an_annotation_has_file_line_title_and_message() -> None:
    (command,) = annotation_commands(report(judged("fast", finding()), folder="kernels/"))
    assert command == (
        "::error file=kernels/solutions/relu/fast/solution.py,line=7,title=relu/fast%3A unexpected_verdict::"
        "compile_error: its code doesn't compile%0Acuda.cu: 'x' is undefined%0Anext: mend it"
    )


def test_the_kind_follows_the_level() -> None:
    gate = report(ALLOWED, WAIVED, UNDECIDED, BROKEN, REGRESSED, NEW, FINE)
    assert kinds(annotation_commands(gate)) == ["error", "error", "warning", "warning", "notice"]


def test_percent_newline_colon_and_comma_are_escaped() -> None:
    bad = finding(message="50 %\r\nslower", places=(Location("a,b:c%.py", 1),), next_step="a: b, c")
    (command,) = annotation_commands(report(judged("x", bad)))
    assert command.startswith("::error file=a%2Cb%3Ac%25.py,line=1,")
    assert command.endswith("::50 %25%0Aslower%0Anext: a: b, c")


def test_ten_of_a_kind_are_shown_and_the_tenth_counts_the_rest() -> None:
    many = [judged(f"s{n}", finding()) for n in range(25)]
    commands = annotation_commands(report(*many, UNDECIDED))
    assert kinds(commands) == ["error"] * 10 + ["warning"]
    assert tells(commands[9], "16 more")
    assert "title=relu/s8%3A" in commands[8]


def test_ten_of_a_kind_are_shown_whole() -> None:
    commands = annotation_commands(report(*(judged(f"s{n}", finding()) for n in range(10))))
    assert "title=relu/s9%3A" in commands[9]


def test_a_message_stays_below_64_kib() -> None:
    (command,) = annotation_commands(report(judged("x", finding(message="é" * 100_000))))
    assert len(command.encode()) < 64 * 1024


def test_a_solutions_words_are_one_line_and_no_command() -> None:
    (command,) = annotation_commands(hostile())
    assert "\n" not in command
    assert "\r" not in command
    assert command.startswith("::error file=solutions/relu/a b%25%2C%3Aé.py,line=3,")
    properties = command[2:].split("::", 1)[0]
    assert "::" not in properties.removeprefix("error ")


def test_json_holds_no_command_and_says_the_same() -> None:
    facts = {"message": "a ##[add-mask]b ###[error]c"}
    written = without_old_commands(json.dumps(facts))
    assert "##[" not in written
    assert json.loads(written) == facts


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
