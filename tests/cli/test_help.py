"""Help of every command: fits 80 columns, without escape codes in a pipe, fast."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

from harness.cli import settings
from harness.cli.app import app
from tests.cli.shell import Shell
from tests.machine import ROOT

COMMANDS = [path for path, _ in settings.walk(settings.prepare(app))]


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_help_fits_eighty_columns_without_escape_codes(
    harness: Shell, monkeypatch: pytest.MonkeyPatch, path: tuple[str, ...]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    outcome = harness(*path, "--help")
    assert outcome.code == 0
    assert "Usage: harness" in outcome.out
    assert [line for line in outcome.out.splitlines() if len(line) > 80] == []
    assert "\x1b" not in outcome.out


@pytest.mark.parametrize("path", [path for path in COMMANDS if path], ids=" ".join)
def test_help_of_a_command_says_what_it_does_and_explains_each_option(path: tuple[str, ...]) -> None:
    command = dict(settings.walk(settings.prepare(app)))[path]
    assert command.help
    unexplained = [param.name for param in command.params if param.param_type_name == "option" and not param.help]
    assert unexplained == []


@pytest.mark.parametrize("words", [["config", "show"], ["config", "show", "--origin"], ["list"], ["doctor"]])
def test_output_in_a_pipe_fits_eighty_columns_without_escape_codes(words: list[str]) -> None:
    environment = {**os.environ, "TERM": "xterm-256color", "PYTHONPATH": str(ROOT)}
    for name in ("FORCE_COLOR", "NO_COLOR", "COLUMNS"):
        environment.pop(name, None)
    command = [sys.executable, "-m", "harness", *words]
    out = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True).stdout
    assert len(out) > 100
    assert [line for line in out.splitlines() if len(line) > 80] == []
    assert not re.search("\x1b", out)


def test_the_command_line_document_names_every_exit_code() -> None:
    from harness.cli import exit_codes

    codes = {value for name, value in vars(exit_codes).items() if name.isupper() and isinstance(value, int)}
    text = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    assert {int(code) for code in re.findall(r"^\| (\d+) \|", text, re.MULTILINE)} == codes
