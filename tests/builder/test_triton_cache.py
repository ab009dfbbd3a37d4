"""What Triton made in a worker is kept only where it is as Triton leaves it: everything there may be a trap."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from harness.builder import triton_cache
from harness.builder.extension_cache import namespace_of
from harness.builder.triton_cache import collect, entries, supply
from harness.sandbox.wire.layout import lent_triton, own_triton

ENTRY = "A2" * 26


class Worker:
    """As far as a cache needs it."""

    backend = "cuda"
    namespace = "f" * 64

    def __init__(self, folder: Path) -> None:
        self.folder, self.cache = folder / "worker", folder / "cache"
        own_triton(self.folder).mkdir(parents=True)

    def makes(self, entry: str = ENTRY, **more: bytes) -> Path:
        """A kernel as Triton leaves it."""
        place = own_triton(self.folder) / entry
        place.mkdir()
        paths = {name: str(place / name) for name in ("double.json", "double.cubin")}
        files = {"double.json": b"{}", "double.cubin": b"ELF", "__grp__double.json": grouped(paths), **more}
        for name, content in files.items():
            (place / name).write_bytes(content)
        return place

    def kept(self) -> list[str]:
        worker: Any = self
        collect(worker)
        return [entry.name for entry in entries(namespace_of(worker))]


def grouped(paths: object) -> bytes:
    return json.dumps({"child_paths": paths}).encode()


@pytest.fixture
def worker(tmp_path: Path) -> Any:
    return Worker(tmp_path)


def test_a_later_worker_finds_the_files_where_its_own_cache_lies(worker: Any, tmp_path: Path) -> None:
    worker.makes()
    assert worker.kept() == [ENTRY]
    worker.folder = tmp_path / "later"
    supply(worker)
    lent, own = lent_triton(worker.folder) / ENTRY, own_triton(worker.folder) / ENTRY
    names = ("double.json", "double.cubin")
    assert json.loads((lent / "__grp__double.json").read_bytes()) == {
        "child_paths": {name: str(own / name) for name in names}
    }
    assert (lent / "double.cubin").read_bytes() == b"ELF"
    assert {path.stat().st_mode & 0o777 for path in lent.iterdir()} == {0o444}


def test_a_launchers_library_has_no_list(worker: Any) -> None:
    place = own_triton(worker.folder) / ENTRY
    place.mkdir()
    (place / "launcher.cpython-312.so").write_bytes(b"ELF")
    assert worker.kept() == [ENTRY]


@pytest.mark.parametrize(
    "listed", [b"[]", b"{}", b"not JSON", grouped([]), grouped({"a": 1}), grouped({"a": "/etc/passwd"}), b"[" * 10_000]
)
def test_a_list_of_what_is_not_there_is_not_kept(worker: Any, listed: bytes) -> None:
    worker.makes(**{"__grp__double.json": listed})
    worker.makes("B2" * 26)
    assert worker.kept() == ["B2" * 26]


def test_links_pipes_and_odd_names_are_left(worker: Any, tmp_path: Path) -> None:
    place = worker.makes()
    (tmp_path / "secret").write_text("secret")
    (place / "link").symlink_to(tmp_path / "secret")
    os.mkfifo(place / "pipe")
    (place / ".hidden").write_text("")
    (own_triton(worker.folder) / ("C2" * 26)).symlink_to(place)
    (own_triton(worker.folder) / "odd").mkdir()
    assert worker.kept() == [ENTRY]
    kept = namespace_of(worker) / "triton" / ENTRY
    assert sorted(path.name for path in kept.iterdir()) == ["__grp__double.json", "double.cubin", "double.json"]


def test_what_is_too_large_in_sum_is_left_unread(worker: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sparse files cost a worker nothing."""
    with (worker.makes() / "sparse").open("wb") as file:
        file.truncate(2**40)
    worker.makes("B2" * 26)
    assert worker.kept() == ["B2" * 26]
    monkeypatch.setattr(triton_cache, "_MOST_BYTES", 3000)
    for letter in "DEFG":
        worker.makes(f"{letter}2" * 26, **{"double.cubin": bytes(1000)})
    assert len(worker.kept()) == 3


def test_few_entries_are_kept_in_all(worker: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(triton_cache, "_MOST_ENTRIES", 2)
    for letter in "ABC":
        worker.makes(f"{letter}2" * 26)
    assert len(worker.kept()) == 2
    assert len(worker.kept()) == 2
