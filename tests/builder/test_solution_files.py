"""A worker gets copies: exactly what was hashed, and nothing that it could change."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.builder.workers import seen_files
from harness.errors import HarnessError
from harness.workspace.source_hash import hash_files, hash_folder, judged_files


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "solution"
    (made / "kernels").mkdir(parents=True)
    (made / "solution.py").write_text("class ModelNew: ...")
    (made / "solution.yaml").write_text("expected_verdict: cheating")
    (made / "kernels" / "k.cu").write_text("__global__ void k();")
    return made


def test_all_but_what_the_author_expects_is_seen(folder: Path) -> None:
    assert list(seen_files(folder, hash_folder(folder))) == ["kernels/k.cu", "solution.py"]


def test_prose_is_neither_seen_nor_hashed(folder: Path) -> None:
    before = hash_files(judged_files(folder))
    (folder / "NOTES.md").write_text("| version | predicted | measured |")
    (folder / "kernels" / "why.md").write_text("since")
    assert [name for name in seen_files(folder, before) if name.endswith(".md")] == []
    (folder / "kernels" / "readme.markdown").write_text("not known as prose")
    assert hash_files(judged_files(folder)) != before


def test_files_that_have_changed_since_they_were_hashed_are_refused(folder: Path) -> None:
    before = hash_folder(folder)
    (folder / "solution.py").write_text("class ModelNew: other = 1")
    with pytest.raises(HarnessError, match="changed"):
        seen_files(folder, before)
