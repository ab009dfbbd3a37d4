"""`harness …` as a user types it, inside this process, and in a Python of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from harness.cli.app import main
from tests.machine import ROOT

WITHOUT_TORCH = (
    "import sys; sys.modules['torch'] = sys.modules['numpy'] = None; from harness.cli.app import main; main()"
)
"""A program that takes the words of a command."""


@dataclass(frozen=True)
class Outcome:
    """Exit code, standard output and standard error of one command."""

    code: int
    out: str
    err: str


class Shell:
    """Runs `harness …` inside this process."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self._monkeypatch = monkeypatch
        self._capsys = capsys

    def __call__(self, *arguments: str) -> Outcome:
        self._monkeypatch.setattr(sys, "argv", ["harness", *arguments])
        with pytest.raises(SystemExit) as caught:
            main()
        out, err = self._capsys.readouterr()
        return Outcome(caught.value.code or 0, out, err)  # type: ignore[arg-type]


def python(
    *arguments: str, cwd: Path = ROOT, stdout: int = subprocess.PIPE, **variables: str
) -> subprocess.CompletedProcess[str]:
    """Run a Python of its own, which the environment promises a terminal with colours; `variables` come on top."""
    plain = {name: value for name, value in os.environ.items() if name not in ("FORCE_COLOR", "NO_COLOR")}
    environment = {**plain, "PYTHONPATH": str(ROOT), "TERM": "xterm-256color", **variables}
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=cwd, env=environment, stdout=stdout, stderr=subprocess.PIPE, text=True)
