"""Limits on what all processes of a worker take together."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from harness.model.verdict import Verdict
from harness.sandbox import usage
from harness.sandbox.family import Process
from harness.sandbox.held_files import FileKey
from harness.sandbox.usage import ExceededLimit, Usage
from tests.wording import tells

GIB = 2**30


class ScriptedFamily:
    """So many processes with so much memory each."""

    def __init__(
        self,
        count: int = 1,
        anonymous_bytes: int = 0,
        shared: tuple[Path, ...] = (),
        held: dict[FileKey, int] | None = None,
        count_open: int = 0,
    ) -> None:
        self._held = held or {}, count_open
        self._members = [Process(n, 1, 1, 1, 0, "x", anonymous_bytes) for n in range(count)]
        self._shared = list(shared)

    def members(self) -> list[Process]:
        return self._members

    def files_held(self, members: list[Process]) -> tuple[dict[FileKey, int], int]:
        return self._held

    def shared_memory(self) -> list[Path]:
        return self._shared


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(usage, "_EVERY_S", 0.0)
    monkeypatch.setattr(usage, "_SCRATCH_EVERY_S", 0.0)


def excess(family: Any, scratch: Path) -> ExceededLimit | None:
    return Usage(4 * GIB).excess(family, scratch)


def test_what_stays_below_every_limit_is_nothing(tmp_path: Path) -> None:
    assert excess(ScriptedFamily(1024, 4 * GIB // 1024), tmp_path) is None


def test_memory_is_summed_over_all_processes(tmp_path: Path) -> None:
    found = excess(ScriptedFamily(3, 2 * GIB), tmp_path)
    assert found is not None
    assert found.verdict is Verdict.OUT_OF_MEMORY
    assert tells(found.what, "4.0 GiB", "host memory")


def test_shared_memory_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "shared").write_bytes(b"x" * 2**20)
    found = Usage(2**19).excess(ScriptedFamily(shared=(tmp_path / "shared",)), tmp_path)  # type: ignore[arg-type]
    assert found is not None
    assert found.verdict is Verdict.OUT_OF_MEMORY


def test_files_without_a_name_count_where_they_lie(tmp_path: Path) -> None:
    disk = tmp_path.stat().st_dev
    in_memory = excess(ScriptedFamily(held={(disk + 1, 1): 3 * GIB, (disk + 1, 2): 3 * GIB}), tmp_path)
    on_disk = excess(ScriptedFamily(held={(disk, 1): 9 * GIB, (disk, 2): 9 * GIB}), tmp_path)
    assert (in_memory and in_memory.verdict) is Verdict.OUT_OF_MEMORY
    assert (on_disk and on_disk.verdict) is Verdict.RUNTIME_ERROR
    assert excess(ScriptedFamily(held={(disk, 1): 15 * GIB, (disk + 1, 1): 3 * GIB}), tmp_path) is None


def test_too_many_descriptors_to_look_at_are_a_runtime_error(tmp_path: Path) -> None:
    assert excess(ScriptedFamily(count_open=200_000), tmp_path) is None
    found = excess(ScriptedFamily(count_open=200_001), tmp_path)
    assert (found and found.verdict) is Verdict.RUNTIME_ERROR


def test_too_many_processes_are_a_runtime_error(tmp_path: Path) -> None:
    found = excess(ScriptedFamily(1025), tmp_path)
    assert found is not None
    assert found.verdict is Verdict.RUNTIME_ERROR
    assert tells(found.what, "1,024 processes")


def test_a_full_folder_is_a_runtime_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(usage, "_SCRATCH_BYTES", 2**19)
    (tmp_path / "deep" / "er").mkdir(parents=True)
    (tmp_path / "deep" / "er" / "junk").write_bytes(b"x" * 2**20)
    found = excess(ScriptedFamily(), tmp_path)
    assert found is not None
    assert found.verdict is Verdict.RUNTIME_ERROR
    assert tells(found.what, "wrote", "0 GiB", "200,000 files")


def test_a_large_hole_and_a_link_out_are_no_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(usage, "_SCRATCH_BYTES", 2**19)
    with (tmp_path / "hole").open("wb") as file:
        file.truncate(2**30)
    os.symlink("/", tmp_path / "root")
    assert excess(ScriptedFamily(), tmp_path) is None


def test_many_files_are_a_runtime_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(usage, "_MOST_FILES", 3)
    for number in range(4):
        (tmp_path / str(number)).touch()
    assert excess(ScriptedFamily(), tmp_path) is not None
