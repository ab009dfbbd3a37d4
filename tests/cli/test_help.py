"""Help of every command: fits 80 columns, without escape codes in a pipe, fast."""

from __future__ import annotations

import re

import pytest

from harness.cli import settings
from harness.cli.app import app
from tests.cli.shell import Shell, python
from tests.machine import ROOT

COMMANDS = [path for path, _ in settings.walk(settings.prepare(app))]


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_help_is_short_fits_eighty_columns_and_names_no_type(
    harness: Shell, monkeypatch: pytest.MonkeyPatch, path: tuple[str, ...]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    outcome = harness(*path, "--help")
    assert outcome.code == 0
    assert "Usage: harness" in outcome.out
    lines = outcome.out.splitlines()
    assert [line for line in lines if len(line) > 80] == []
    assert "\x1b" not in outcome.out
    assert path == () or len(lines) < 50
    assert [line for line in lines if re.search(r"<(bool|str|int|float|path|list)\b", line)] == []


@pytest.mark.parametrize("path", [path for path in COMMANDS if path], ids=" ".join)
def test_help_of_a_command_says_what_it_does_and_explains_each_option(path: tuple[str, ...]) -> None:
    command = dict(settings.walk(settings.prepare(app)))[path]
    assert command.help
    unexplained = [param.name for param in command.params if param.param_type_name == "option" and not param.help]
    assert unexplained == []


def test_a_bare_harness_begins_with_the_commands_of_every_day(harness: Shell) -> None:
    outcome = harness()
    lines = [*outcome.out.splitlines(), *outcome.err.splitlines()]
    start = lines.index("Every day:")
    assert [line.split()[0] for line in lines[start + 1 : start + 6]] == [
        *("run", "compare", "watch", "gate", "leaderboard")
    ]


@pytest.mark.parametrize("words", [["list"], ["doctor"], ["history", "maxpool2d"], ["leaderboard"]])
def test_output_in_a_pipe_has_no_escape_codes_and_is_never_cut(words: list[str]) -> None:
    out = python("-m", "harness", *words, COLUMNS="20").stdout
    lines = out.splitlines()
    assert max(map(len, lines)) > 60
    assert [line for line in lines if line != line.rstrip() or "…" in line] == []
    assert not re.search("\x1b", out)


def test_colours_can_be_had_in_a_pipe() -> None:
    assert "\x1b[" in python("-m", "harness", "history", "maxpool2d", FORCE_COLOR="1").stdout


def test_the_command_line_document_names_every_exit_code() -> None:
    from harness.cli import exit_codes

    codes = {value for name, value in vars(exit_codes).items() if name.isupper() and isinstance(value, int)}
    text = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    assert {int(code) for code in re.findall(r"^\| (\d+) \|", text, re.MULTILINE)} == codes
