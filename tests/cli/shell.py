"""`harness …` as a user types it, inside this process."""

from __future__ import annotations

import sys
from dataclasses import dataclass

import pytest

from harness.cli.app import main


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
