"""One hash for the files of a folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.workspace.source_hash import hash_folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "include").mkdir()
    (tmp_path / "solution.py").write_text("a")
    (tmp_path / "include" / "tile.cuh").write_text("b")
    return tmp_path


def test_a_changed_content_changes_the_hash(folder: Path) -> None:
    before = hash_folder(folder)
    (folder / "include" / "tile.cuh").write_text("c")
    assert hash_folder(folder) != before


def test_a_changed_name_changes_the_hash(folder: Path) -> None:
    before = hash_folder(folder)
    (folder / "include" / "tile.cuh").rename(folder / "include" / "tiles.cuh")
    assert hash_folder(folder) != before


def test_a_new_file_changes_the_hash(folder: Path) -> None:
    before = hash_folder(folder)
    (folder / "empty.cu").touch()
    assert hash_folder(folder) != before


def test_content_that_moves_between_files_changes_the_hash(tmp_path: Path) -> None:
    for name, pieces in (("one", ("ab", "c")), ("other", ("a", "bc"))):
        (tmp_path / name).mkdir()
        for file, text in zip(("x", "y"), pieces, strict=True):
            (tmp_path / name / file).write_text(text)
    assert hash_folder(tmp_path / "one") != hash_folder(tmp_path / "other")


def test_compiled_python_and_hidden_files_have_no_part(folder: Path) -> None:
    before = hash_folder(folder)
    (folder / "__pycache__").mkdir()
    (folder / "__pycache__" / "solution.cpython-311.pyc").touch()
    (folder / ".solution.py.swp").touch()
    assert hash_folder(folder) == before


def test_the_place_of_the_folder_has_no_part(tmp_path: Path) -> None:
    for name in ("here", "there"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "solution.py").write_text("a")
    assert hash_folder(tmp_path / "here") == hash_folder(tmp_path / "there")
