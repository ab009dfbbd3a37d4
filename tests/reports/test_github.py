"""Commands for the runner of GitHub Actions."""

from __future__ import annotations

import json

from harness.model.gate import Location
from harness.reports.github import annotation_commands, resuming, stopping, without_old_commands
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
        "compile_error: an extension doesn't compile%0Acuda.cu: 'x' is undefined%0Anext: mend it"
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


def test_commands_are_stopped_until_the_token_comes() -> None:
    assert stopping("5ecret") == "::stop-commands::5ecret"
    assert resuming("5ecret") == "::5ecret::"


def test_json_holds_no_command_and_says_the_same() -> None:
    facts = {"message": "a ##[add-mask]b ###[error]c"}
    written = without_old_commands(json.dumps(facts))
    assert "##[" not in written
    assert json.loads(written) == facts
