"""All of a worker's processes are found and ended, wherever they have gone, and nobody else's."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.protocol.cell import user_of
from harness.referee.family import Family, Leftovers, living, start_of

MARK = "0123456789abcdef"

# Each prints the number of the process that tries to get away, once it is on its way, and waits.
CHILD = """
import os, subprocess, sys, time
child = subprocess.Popen(["sleep", "1000"])
print(child.pid, flush=True)
time.sleep(1000)
"""
OTHER_GROUP = CHILD.replace('"1000"]', '"1000"], preexec_fn=lambda: os.setpgid(0, 0)')
OTHER_SESSION = CHILD.replace('"1000"]', '"1000"], start_new_session=True')
NO_PARENT = """
import os, time
reader, writer = os.pipe()
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.write(writer, str(os.getpid()).encode())
        time.sleep(1000)
    os._exit(0)
os.wait()
print(int(os.read(reader, 20)), flush=True)
time.sleep(1000)
"""
ANOTHER_USER = """
import os, time
user = 2**30 + os.getpid()
reader, writer = os.pipe()
if os.fork() == 0:
    os.setsid()
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)
    if os.fork() == 0:
        os.write(writer, str(os.getpid()).encode())
        os.close(writer)
        os.execve("/bin/sleep", ["sleep", "1000"], {})
    os._exit(0)
os.wait()
print(int(os.read(reader, 20)), flush=True)
time.sleep(1000)
"""


@pytest.fixture
def started() -> Iterator[list[subprocess.Popen[bytes]]]:
    processes: list[subprocess.Popen[bytes]] = []
    yield processes
    for process in processes:
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


def start(code: str, processes: list[subprocess.Popen[bytes]]) -> tuple[subprocess.Popen[bytes], int]:
    """A worker of this code, and the process that it has told of."""
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        start_new_session=True,
        env={**os.environ, "HARNESS_WORKER": MARK},
    )
    processes.append(process)
    assert process.stdout is not None
    return process, int(process.stdout.readline())


def is_alive(pid: int) -> bool:
    return pid in {one.pid for one in living()}


@pytest.mark.parametrize(
    ("code", "strays"),
    [(CHILD, 0), (OTHER_GROUP, 1), (OTHER_SESSION, 1), (NO_PARENT, 1)],
    ids=["child", "other_group", "other_session", "no_parent"],
)
def test_who_went_away_is_ended_and_told_of(started: list[subprocess.Popen[bytes]], code: str, strays: int) -> None:
    worker, runaway = start(code, started)
    leftovers = Family(worker.pid, MARK).end()
    assert not is_alive(runaway)
    assert not is_alive(worker.pid)
    assert len(leftovers.processes) == strays
    assert (leftovers.remark is None) == (strays == 0)


def test_who_changed_its_user_and_forgot_its_environment_is_ended(started: list[subprocess.Popen[bytes]]) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root gives workers users of their own")
    worker, runaway = start(ANOTHER_USER, started)
    leftovers = Family(worker.pid, MARK).end()
    assert not is_alive(runaway)
    assert leftovers.processes == ("sleep",)


def test_other_workers_stay(started: list[subprocess.Popen[bytes]]) -> None:
    worker, _ = start(CHILD, started)
    other, other_child = start(CHILD.replace("import", "import signal,", 1), started)
    Family(worker.pid, "of-another").end()
    assert is_alive(other.pid)
    assert is_alive(other_child)
    os.kill(other_child, signal.SIGKILL)


def test_the_referee_is_no_member_of_any_family() -> None:
    """It bears the mark where it was itself started by a worker, as in a test within a test."""
    assert os.getpid() not in {one.pid for one in Family(2**22 + 1, MARK).members()}


def test_shared_memory_of_its_own_user_is_removed(started: list[subprocess.Popen[bytes]]) -> None:
    if os.geteuid() != 0 or not Path("/dev/shm").is_dir():
        pytest.skip("needs root and /dev/shm")
    worker, _ = start(CHILD, started)
    path = Path(f"/dev/shm/harness-test-{worker.pid}")
    path.write_text("kept")
    os.chown(path, user_of(worker.pid), -1)
    assert Family(worker.pid, MARK).end().shared_memory == (path.name,)
    assert not path.exists()


def test_a_remark_names_what_was_left() -> None:
    assert Leftovers().remark is None
    left = Leftovers(("sleep", "python", "sleep"), ("sem.x",))
    assert left.remark == (
        "the solution left behind 3 processes that had left its group (python, sleep) and 1 files of shared memory; "
        "they were removed"
    )


def test_a_process_has_a_start_and_an_unknown_one_none() -> None:
    assert start_of(os.getpid()) == start_of(os.getpid())
    assert start_of(2**22 + 1) is None
