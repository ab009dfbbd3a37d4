"""Two runs never share a GPU: the lock between processes."""

from __future__ import annotations

import os
import re
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from harness.errors import Interrupted, MachineError
from harness.run.gpu_lock import GpuLock
from tests.machine import ROOT

OTHER_RUN = """
import sys, threading
from pathlib import Path
from harness.run.gpu_lock import GpuLock
lock = GpuLock("GPU-1234", "GPU 3", Path(sys.argv[1]))
with lock.held(threading.Event(), lambda what: print(what, flush=True)):
    print("held", flush=True)
    sys.stdin.readline()
print("free", flush=True)
sys.stdin.readline()
"""


@contextmanager
def other_run(folder: Path) -> Iterator[subprocess.Popen[str]]:
    """A process that takes the lock of GPU 3, says so, and lets go at the next line."""
    with subprocess.Popen(
        [sys.executable, "-c", OTHER_RUN, str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def line_of(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def lock_in(folder: Path) -> GpuLock:
    return GpuLock("GPU-1234", "GPU 3", folder)


class TooLong(Exception):
    """Raised instead of waiting on."""


def told_when_waiting(lock: GpuLock) -> str:
    """What is told before the first wait, which is given up."""
    told: list[str] = []
    stop = threading.Event()

    def notify(what: str) -> None:
        told.append(what)
        stop.set()

    with pytest.raises(Interrupted), lock.held(stop, notify):
        raise TooLong
    (what,) = told
    return what


def test_a_gpu_in_use_is_waited_for_and_its_holder_named(tmp_path: Path) -> None:
    with other_run(tmp_path) as other:
        assert line_of(other) == "held"
        what = told_when_waiting(lock_in(tmp_path))
        assert re.fullmatch(rf".*GPU 3,.* {other.pid} .*\d\d:\d\d:\d\d", what)


def test_a_killed_holder_leaves_the_gpu_free(tmp_path: Path) -> None:
    with other_run(tmp_path) as other:
        assert line_of(other) == "held"
        other.kill()
        other.wait()
        told: list[str] = []
        with lock_in(tmp_path).held(threading.Event(), told.append):
            assert told == []


def test_who_waits_comes_before_who_has_just_let_go(tmp_path: Path) -> None:
    ours = lock_in(tmp_path)
    with other_run(tmp_path) as other:
        with ours.held(threading.Event(), lambda what: None):
            assert f" pid {os.getpid()} " in line_of(other)
            assert ours.is_wanted()
        assert told_when_waiting(ours).startswith("waiting")
        assert line_of(other) == "held"


def test_a_gpu_in_use_can_be_seen_without_waiting(tmp_path: Path) -> None:
    other_gpu = GpuLock("GPU-5678", "GPU 4", tmp_path)
    assert not lock_in(tmp_path).is_held()
    assert not lock_in(tmp_path).is_wanted()
    with other_run(tmp_path) as other:
        assert line_of(other) == "held"
        assert lock_in(tmp_path).is_held()
        assert not other_gpu.is_held()
        other.kill()
        other.wait()
    assert (tmp_path / "harness-gpu-GPU-1234.lock").stat().st_size > 0  # its note stays, its lock doesn't
    assert not lock_in(tmp_path).is_held()


def test_another_gpu_is_not_waited_for(tmp_path: Path) -> None:
    told: list[str] = []
    with (
        lock_in(tmp_path).held(threading.Event(), told.append),
        GpuLock("GPU-5678", "GPU 4", tmp_path).held(threading.Event(), told.append),
    ):
        assert told == []


def test_the_lock_is_there_for_every_user(tmp_path: Path) -> None:
    before = os.umask(0o077)
    try:
        with lock_in(tmp_path).held(threading.Event(), lambda what: None):
            pass
    finally:
        os.umask(before)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
    assert modes == {"harness-gpu-GPU-1234.lock": 0o666, "harness-gpu-GPU-1234.turnstile": 0o666}


def test_a_name_that_is_no_file_name_stays_in_the_folder(tmp_path: Path) -> None:
    folder = tmp_path / "locks"
    folder.mkdir()
    with GpuLock("../../GPU 1", "GPU 1", folder).held(threading.Event(), lambda what: None):
        assert sorted(path.name for path in folder.iterdir()) == [
            "harness-gpu-______GPU_1.lock",
            "harness-gpu-______GPU_1.turnstile",
        ]


@pytest.mark.parametrize("trap", ["symbolic link", "hard link", "pipe", "folder"])
def test_a_trap_in_the_shared_folder_is_refused_and_nothing_written(tmp_path: Path, trap: str) -> None:
    victim, planted = tmp_path / "victim", tmp_path / "harness-gpu-GPU-1234.lock"
    victim.write_text("precious")
    if trap == "symbolic link":
        planted.symlink_to(victim)
    elif trap == "hard link":
        planted.hardlink_to(victim)
    elif trap == "pipe":
        os.mkfifo(planted)
    else:
        planted.mkdir()
    with pytest.raises(MachineError, match=r"GPU 3 .*HARNESS_LOCKS"):  # noqa: SIM117
        with lock_in(tmp_path).held(threading.Event(), lambda what: None):
            raise TooLong
    assert victim.read_text() == "precious"


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(MachineError, match="No such file"):  # noqa: SIM117
        with lock_in(tmp_path / "nowhere").held(threading.Event(), lambda what: None):
            raise TooLong


@pytest.mark.parametrize("note", [b"", b"\x1b[31m", b'{"pid": "\\u001b[31m", "since": "now"}', b"[" * 4000])
def test_a_note_of_another_form_is_not_passed_on(tmp_path: Path, note: bytes) -> None:
    with other_run(tmp_path) as other:
        assert line_of(other) == "held"
        (tmp_path / "harness-gpu-GPU-1234.lock").write_bytes(note)
        told = told_when_waiting(lock_in(tmp_path))
    assert "GPU 3" in told
    assert "another run" in told


def test_the_files_of_a_lock_can_be_made_ahead_and_stay(tmp_path: Path) -> None:
    lock = lock_in(tmp_path)
    files = lock.made_files()
    assert sorted(tmp_path.iterdir()) == sorted(files)
    assert not lock.is_held()
    assert lock.made_files() == files
