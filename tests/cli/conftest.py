"""A shell, and a workspace to stand in."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.shell import Shell
from tests.workspace.test_problem import SOURCE


@pytest.fixture
def harness(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Shell:
    monkeypatch.setenv("COLUMNS", "100")
    return Shell(monkeypatch, capsys)


@pytest.fixture
def terminal(harness: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    """Standard output is a terminal of 80 columns."""
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr("harness.cli.printing.is_terminal", lambda: True)


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two problems; one has solutions. Becomes the working directory."""
    for name in ("maxpool2d", "relu"):
        (tmp_path / "problems" / name).mkdir(parents=True)
        (tmp_path / "problems" / name / "problem.py").write_text(SOURCE)
    yaml = "title: Max pooling\ntags: [pooling]\nprecision: tf32\ncases: {small: {constants: {height: 3}}}"
    (tmp_path / "problems" / "maxpool2d" / "problem.yaml").write_text(yaml)
    for name in ("plain", "shared_tile"):
        (tmp_path / "solutions" / "maxpool2d" / name).mkdir(parents=True)
        (tmp_path / "solutions" / "maxpool2d" / name / "solution.py").write_text("class ModelNew: ...")
    (tmp_path / "configs").mkdir()
    (tmp_path / "configs" / "quick.yaml").write_text("timing: {blocks: 6}")
    monkeypatch.chdir(tmp_path)
    return tmp_path
