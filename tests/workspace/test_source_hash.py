"""One hash for the files of a folder."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.errors import InvalidFile
from harness.workspace.source_hash import hash_files, hash_folder, hashed_files, refuse_unfit


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "include").mkdir()
    (tmp_path / "solution.py").write_text("a")
    (tmp_path / "include" / "tile.cuh").write_text("b")
    return tmp_path


@pytest.mark.parametrize(
    "change",
    [
        lambda folder: (folder / "include/tile.cuh").write_text("c"),
        lambda folder: (folder / "include/tile.cuh").rename(folder / "include/tiles.cuh"),
        lambda folder: (folder / "empty.cu").touch(),
    ],
    ids=["content", "name", "new-file"],
)
def test_every_change_changes_the_hash(folder: Path, change: Callable[[Path], object]) -> None:
    before = hash_folder(folder)
    change(folder)
    assert hash_folder(folder) != before


def test_content_that_moves_between_files_changes_the_hash(tmp_path: Path) -> None:
    for name, pieces in (("one", ("ab", "c")), ("other", ("a", "bc"))):
        (tmp_path / name).mkdir()
        for file, text in zip(("x", "y"), pieces, strict=True):
            (tmp_path / name / file).write_text(text)
    assert hash_folder(tmp_path / "one") != hash_folder(tmp_path / "other")


def test_compiled_python_has_no_part(folder: Path) -> None:
    before = hash_folder(folder)
    (folder / "__pycache__").mkdir()
    (folder / "__pycache__" / "solution.cpython-311.pyc").touch()
    assert hash_folder(folder) == before


def test_a_plain_folder_keeps_its_hash_from_version_to_version(folder: Path) -> None:
    assert hash_folder(folder) == "36289f0d7a51d8a8c5d0aa1c1c547f9d99eb5e24877603a1cd62d794faf50b04"


@pytest.mark.parametrize("name", [".tile.cuh", ".hidden/tile.cuh", "__pycache__/tile.cuh", "sourceless.pyc"])
def test_whatever_can_be_included_or_imported_has_a_part(folder: Path, name: str) -> None:
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_text("a")
    before = hash_folder(folder)
    (folder / name).write_text("b")
    assert hash_folder(folder) != before


def test_nothing_outside_the_folder_is_read(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    outside = tmp_path_factory.mktemp("outside")
    (outside / "secret").write_text("s")
    (folder / "secret").symlink_to(outside / "secret")
    (folder / "linked").symlink_to(outside)
    assert list(hashed_files(folder)) == ["include/tile.cuh", "solution.py"]


@pytest.mark.parametrize("target", ["..", "../elsewhere.cuh", "/etc/hostname", "include", "."])
def test_a_link_to_a_folder_or_out_of_it_is_refused(folder: Path, target: str) -> None:
    (folder / "include" / "linked").symlink_to(folder / target if target == "include" else target)
    if target == "../elsewhere.cuh":
        (folder / "include" / "linked").rename(folder / "linked")
    with pytest.raises(InvalidFile, match=r"linked' is a link .*copy"):
        refuse_unfit(folder)


def test_a_file_that_cannot_be_read_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path).name != "tile.cuh")
    with pytest.raises(InvalidFile, match=r"include/tile\.cuh: .*Permission denied"):
        refuse_unfit(folder)


def test_a_folder_that_cannot_be_read_has_no_hash(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scandir = os.scandir

    def guarded(path: str) -> Any:
        if Path(path).name == "include":
            raise PermissionError(errno.EACCES, "Permission denied", path)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", guarded)
    with pytest.raises(InvalidFile, match=r"include: .*Permission denied"):
        hash_folder(folder)


def test_a_file_that_went_away_has_no_hash(folder: Path) -> None:
    files = hashed_files(folder)
    (folder / "solution.py").unlink()
    with pytest.raises(InvalidFile, match=r"solution\.py: .*No such file"):
        hash_files(files)


def test_a_link_within_the_folder_is_a_file_like_any_other(folder: Path) -> None:
    (folder / "again.cuh").symlink_to("include/tile.cuh")
    refuse_unfit(folder)
    assert list(hashed_files(folder)) == ["again.cuh", "include/tile.cuh", "solution.py"]


def test_what_links_to_itself_or_below_a_file_is_no_file(folder: Path) -> None:
    (folder / "circle").symlink_to("circle")
    (folder / "below").symlink_to("solution.py/x")
    assert list(hashed_files(folder)) == ["include/tile.cuh", "solution.py"]


@pytest.mark.parametrize("target", ["circle", "solution.py/x", "nowhere"])
def test_a_link_to_nowhere_is_refused(folder: Path, target: str) -> None:
    (folder / "circle").symlink_to(target)
    with pytest.raises(InvalidFile, match=r"circle' is a link .*copy"):
        refuse_unfit(folder)


def test_the_lock_of_an_editor_is_let_be(folder: Path) -> None:
    before = hash_folder(folder)
    (folder / ".#solution.py").symlink_to("someone@machine.4711:1700000000")
    refuse_unfit(folder)
    assert hash_folder(folder) == before


def test_a_file_that_no_memory_holds_is_refused(folder: Path) -> None:
    (folder / "weights").touch()
    os.truncate(folder / "weights", 2**40)
    with pytest.raises(InvalidFile, match=r"above .* 1024 MiB"):
        refuse_unfit(folder)


def test_folders_may_be_nested_deeper_than_python_calls(folder: Path) -> None:
    deep = str(folder)
    for _ in range(1200):
        deep += "/d"
        os.mkdir(deep)
    refuse_unfit(folder)
    assert list(hashed_files(folder)) == ["include/tile.cuh", "solution.py"]
    os.removedirs(deep)  # what clears up after tests calls itself for each


def test_the_place_of_the_folder_has_no_part(tmp_path: Path) -> None:
    for name in ("here", "there"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "solution.py").write_text("a")
    assert hash_folder(tmp_path / "here") == hash_folder(tmp_path / "there")
