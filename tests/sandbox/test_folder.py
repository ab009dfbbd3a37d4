"""A worker's folder goes with it, whatever was made of it, and also when its referee was killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.sandbox import folder as worker_folder
from harness.sandbox.family import start_of
from harness.sandbox.folder import make_folder, remove_folder, write_file
from harness.sandbox.wire.sandbox import FIRST_USER


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    yield tmp_path
    for folder in tmp_path.glob("harness-worker-*"):
        remove_folder(folder)


def test_a_folder_is_its_owners_alone() -> None:
    folder = make_folder()
    assert folder.stat().st_mode & 0o777 == 0o700
    assert sorted(path.name for path in folder.iterdir()) == ["files", "scratch"]


def test_deep_and_closed_folders_are_removed() -> None:
    folder = make_folder()
    place = os.open(folder / "scratch", os.O_RDONLY)
    for _ in range(3000):  # deeper than a path can name
        os.mkdir("d", dir_fd=place)
        below = os.open("d", os.O_RDONLY, dir_fd=place)
        os.close(place)
        place = below
    os.close(place)
    (folder / "scratch" / "work" / "closed").mkdir(mode=0o000)
    remove_folder(folder)
    assert not folder.exists()


def test_what_a_link_leads_to_stays(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("kept")
    folder = make_folder()
    (folder / "scratch" / "link").symlink_to(tmp_path)
    remove_folder(folder)
    assert (tmp_path / "mine").read_text() == "kept"


def abandoned(place: Path, owner: int, start: int, age_s: int) -> Path:
    folder = place / f"harness-worker-{owner}-{start}-{worker_folder._pid_space()}-0123456789abcdef"
    (folder / "scratch").mkdir(parents=True)
    then = folder.stat().st_mtime - age_s
    os.utime(folder, (then, then))
    return folder


def test_what_a_killed_referee_left_is_removed_at_the_next_start(temporary: Path) -> None:
    gone = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, check=True)
    dead = abandoned(temporary, int(gone.stdout), 1, 3600)
    number_reused = abandoned(temporary, os.getpid(), 1, 3600)
    young = abandoned(temporary, 2**22 + 1, 1, 0)
    living = abandoned(temporary, os.getppid(), start_of(os.getppid()) or 0, 3600)
    other = temporary / "harness-worker-of-somebody"
    other.mkdir()
    worker_folder._remove_abandoned.cache_clear()
    make_folder()
    assert [path.exists() for path in (dead, number_reused, young, living, other)] == [False, False, True, True, True]


def test_what_workers_of_a_killed_referee_left_running_is_ended(temporary: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root gives workers users of their own")
    user = FIRST_USER + 12345
    folder = abandoned(temporary, 2**22 + 1, 1, 3600)
    os.chown(folder / "scratch", user, -1)
    shared = Path("/dev/shm/harness-test-of-an-abandoned-worker")
    shared.write_bytes(b"left")
    os.chown(shared, user, -1)
    with subprocess.Popen(["sleep", "1000"], user=user) as orphan:
        worker_folder._remove_abandoned.cache_clear()
        make_folder()
        assert orphan.wait(timeout=20) == -signal.SIGKILL
    assert not folder.exists()
    assert not shared.exists()


def test_a_written_file_is_read_only_and_never_replaced(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "solution.py"
    write_file(path, b"mine")
    assert (path.read_bytes(), path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (
        b"mine",
        0o444,
        0o755,
    )
    with pytest.raises(FileExistsError):
        write_file(path, b"another")
