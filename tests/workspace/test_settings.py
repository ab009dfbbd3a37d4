"""Which files' settings hold where."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.errors import InvalidFile
from harness.workspace.settings import find_settings


def labels(start: Path) -> list[str]:
    return [file.label for file in find_settings(start)]


def test_nothing_is_found_where_nothing_is(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("")
    assert labels(tmp_path) == []


def test_files_of_the_workspace_hold_below_it(tmp_path: Path) -> None:
    (tmp_path / "problems" / "relu").mkdir(parents=True)
    (tmp_path / "harness.yaml").write_text("run: {seed: 1}")
    (tmp_path / "pyproject.toml").write_text("[tool.harness]\n")
    expected = [f"{tmp_path}/harness.yaml", f"{tmp_path}/pyproject.toml [tool.harness]"]
    assert labels(tmp_path / "problems" / "relu") == expected


def test_without_a_workspace_the_start_itself_counts(tmp_path: Path) -> None:
    (tmp_path / "harness.yaml").write_text("run: {seed: 1}")
    (tmp_path / "pyproject.toml").write_text("")
    below = tmp_path / "below"
    below.mkdir()
    assert labels(tmp_path) == [f"{tmp_path}/harness.yaml"]
    assert labels(below) == []


def test_the_nearest_pyproject_decides_alone(tmp_path: Path) -> None:
    (tmp_path / "inner" / "problems").mkdir(parents=True)
    (tmp_path / "pyproject.toml").write_text("[tool.harness]\n")
    (tmp_path / "inner" / "pyproject.toml").write_text("[project]\nname = 'inner'\n")
    assert labels(tmp_path / "inner") == []


@pytest.mark.parametrize(
    ("text", "complaint"),
    [("[tool]\nharness = 3\n", "tool.harness: int where a table belongs"), ("[tool.harness", "not valid TOML: ")],
)
def test_a_broken_table_is_named(tmp_path: Path, text: str, complaint: str) -> None:
    (tmp_path / "pyproject.toml").write_text(text)
    with pytest.raises(InvalidFile, match=complaint):
        find_settings(tmp_path)
