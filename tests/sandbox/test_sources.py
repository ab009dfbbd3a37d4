"""A worker gets copies: exactly what was hashed, and nothing that it could change."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.errors import HarnessError
from harness.sandbox.sources import copy_folder
from harness.workspace.source_hash import hash_files, hash_folder, judged_files


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "solution"
    (made / "kernels").mkdir(parents=True)
    (made / "solution.py").write_text("class ModelNew: ...")
    (made / "solution.yaml").write_text("expected_verdict: cheating")
    (made / "kernels" / "k.cu").write_text("__global__ void k();")
    return made


def test_all_but_what_the_author_expects_is_copied_read_only(folder: Path, tmp_path: Path) -> None:
    copy_folder(folder, tmp_path / "copy", hash_folder(folder))
    files = sorted(path for path in (tmp_path / "copy").rglob("*") if path.is_file())
    assert [path.relative_to(tmp_path / "copy").as_posix() for path in files] == ["kernels/k.cu", "solution.py"]
    assert {path.stat().st_mode & 0o777 for path in files} == {0o444}


def test_prose_is_neither_copied_nor_hashed(folder: Path, tmp_path: Path) -> None:
    before = hash_files(judged_files(folder))
    (folder / "NOTES.md").write_text("| version | predicted | measured |")
    (folder / "kernels" / "why.md").write_text("since")
    copy_folder(folder, tmp_path / "copy", before)
    assert not list((tmp_path / "copy").rglob("*.md"))
    (folder / "kernels" / "readme.markdown").write_text("not known as prose")
    assert hash_files(judged_files(folder)) != before


def test_files_that_have_changed_since_they_were_hashed_are_refused(folder: Path, tmp_path: Path) -> None:
    before = hash_folder(folder)
    (folder / "solution.py").write_text("class ModelNew: other = 1")
    with pytest.raises(HarnessError, match="was changed while it was judged"):
        copy_folder(folder, tmp_path / "copy", before)
    assert not (tmp_path / "copy").exists()


def test_the_namespace_is_that_of_the_files_that_a_worker_sees(folder: Path, tmp_path: Path) -> None:
    first = copy_folder(folder, tmp_path / "a", None)
    (folder / "solution.yaml").write_text("author: me")
    assert copy_folder(folder, tmp_path / "b", None) == first
    (folder / "kernels" / "k.cu").write_text("__global__ void other();")
    assert copy_folder(folder, tmp_path / "c", None) != first
