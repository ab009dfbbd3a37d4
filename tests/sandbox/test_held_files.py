"""Memory and files that no folder lists are found with those who hold them."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.sandbox import held_files
from harness.sandbox.held_files import files_held

MIB = 2**20
HOLDS = """
import mmap, os, time
shared = mmap.mmap(-1, 5 << 20)
shared[:] = bytes([1]) * (5 << 20)
named = os.memfd_create("x")
os.write(named, bytes(3 << 20))
closed = os.memfd_create("y")
os.ftruncate(closed, 2 << 20)
mapped = mmap.mmap(closed, 2 << 20)
os.close(closed)
mapped[:] = bytes([1]) * (2 << 20)
file = open("unlinked", "w+b")
file.write(bytes([1]) * (7 << 20))
file.flush()
os.unlink("unlinked")
open("listed", "wb").write(bytes([1]) * (1 << 20))
print(flush=True)
time.sleep(1000)
"""


@pytest.fixture
def holder(tmp_path: Path) -> Iterator[int]:
    with subprocess.Popen([sys.executable, "-c", HOLDS], cwd=tmp_path, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield process.pid
        process.kill()


@pytest.mark.parametrize("may_look_behind_mappings", [True, False])
def test_files_without_a_name_count(
    holder: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, may_look_behind_mappings: bool
) -> None:
    if not may_look_behind_mappings:
        add = held_files._add
        monkeypatch.setattr(held_files, "_add", lambda path, found: "map_files" not in path and add(path, found))
    found, _ = files_held([holder], 0)
    on_disk = sum(size for (device, _), size in found.items() if device == tmp_path.stat().st_dev)
    in_memory = sum(found.values()) - on_disk
    assert 7 <= on_disk / MIB < 8
    assert 10 <= in_memory / MIB < 11


def test_what_the_referee_shares_is_its_own() -> None:
    shared = os.memfd_create("buffer")
    os.write(shared, bytes(MIB))
    with subprocess.Popen(["sleep", "1000"], pass_fds=[shared]) as process:
        assert files_held([process.pid], 0)[0] == {}
        os.close(shared)
        assert [*files_held([process.pid], 0)[0].values()] == [MIB]
        process.kill()


def test_root_looks_as_the_workers_user_where_it_may_not_look_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root gives workers users of their own")
    user = 0x78000000 + 4_000_004
    here, held = threading.get_ident(), held_files._held
    monkeypatch.setattr(held_files, "_may_look", lambda processes: False)
    monkeypatch.setattr(held_files, "_held", lambda *given: ({}, 0) if threading.get_ident() == here else held(*given))
    shared = os.memfd_create("handed on")
    os.write(shared, bytes(MIB))
    with subprocess.Popen(["sleep", "1000"], pass_fds=[shared], user=user, group=user, extra_groups=[]) as process:
        os.close(shared)
        assert [*files_held([process.pid], user)[0].values()] == [MIB]
        assert files_held([process.pid], user + 1)[0] == {}  # who sees nothing
        process.kill()


def test_who_is_gone_holds_nothing() -> None:
    assert files_held([2**22 + 1], 0) == ({}, 0)
