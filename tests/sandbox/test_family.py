"""All of a worker's processes are found and ended, wherever they have gone, and nobody else's."""

from __future__ import annotations

import contextlib
import ctypes
import os
import secrets
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.sandbox import family as family_module
from harness.sandbox.family import Family, Leftovers, Process, start_of
from harness.sandbox.user_signal import is_own_user, signal_user
from harness.sandbox.wire.sandbox import user_of
from tests.wording import tells

MARK = secrets.token_hex(8)  # another run of these tests has another

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
user = 0x78000000 + os.getpid()
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
os.close(writer)
os.wait()
print(int(os.read(reader, 20)), flush=True)
time.sleep(1000)
"""

# A chain of processes, each of which forks the next and ends: in a list from /proc it is gone before it is read.
CHAIN = """
import os, time
reader, writer = os.pipe()
if os.fork() == 0:
    os.setresgid(*[0x78000000 + os.getppid()] * 3)
    os.setresuid(*[0x78000000 + os.getppid()] * 3)
    os.setsid()
    os.write(writer, b"1")
    until = time.monotonic() + 20  # should a test be cut off
    while time.monotonic() < until and os.fork() == 0:
        time.sleep(0.001)
    os._exit(0)
os.setresgid(*[0x78000000 + os.getpid()] * 3)
os.setresuid(*[0x78000000 + os.getpid()] * 3)
os.read(reader, 1)
print(os.getpid(), flush=True)
time.sleep(1000)
"""


@pytest.fixture
def started() -> Iterator[list[subprocess.Popen[bytes]]]:
    processes: list[subprocess.Popen[bytes]] = []
    yield processes
    for process in processes:
        signal_user(user_of(process.pid), signal.SIGKILL)
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


def may_change_users() -> bool:
    held = Path("/proc/self/status").read_text().partition("CapEff:")[2].split()[0]
    return os.geteuid() == 0 and bool(int(held, 16) >> 7 & 1)  # CAP_SETUID


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in ("Z", "X")
    except FileNotFoundError:
        return False


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
    if not may_change_users():
        pytest.skip("only root gives workers users of their own")
    worker, runaway = start(ANOTHER_USER, started)
    leftovers = Family(worker.pid, MARK).end()
    assert not is_alive(runaway)
    assert len(leftovers.processes) == 1


def states_of(user: int) -> dict[int, str]:
    """Living processes of a user with their states."""
    found = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            state = Path(f"/proc/{name}/stat").read_text().rpartition(")")[2].split()[0]
            if os.stat(f"/proc/{name}").st_uid == user and state != "Z":
                found[int(name)] = state
    return found


def settled(user: int) -> dict[int, str]:
    """Its processes once all stand still: one that had been signalled may still be on its way to that, and one that was
    being born comes up stopped. A chain that goes on is never found twice alike."""
    before, now = {}, states_of(user)
    for _ in range(1000):
        before, now = now, states_of(user)
        if before == now and set(now.values()) == {"T"}:
            return now
    raise AssertionError(f"they go on: {before}, {now}")


def test_who_forks_anew_all_the_time_stands_still_and_is_ended(started: list[subprocess.Popen[bytes]]) -> None:
    if not may_change_users():
        pytest.skip("only root gives workers users of their own")
    worker, _ = start(CHAIN, started)
    user = user_of(worker.pid)
    for _ in range(5):
        Family(worker.pid, MARK).stop()
        still = settled(user)
        assert len(still) >= 2
        assert [states_of(user) for _ in range(3)] == [still] * 3
        Family(worker.pid, MARK).go_on()
    left = Family(worker.pid, MARK).end()
    assert states_of(user) == {}
    assert len(left.processes) >= 1


def test_without_a_user_of_its_own_who_was_born_meanwhile_is_stopped_too(
    started: list[subprocess.Popen[bytes]], monkeypatch: pytest.MonkeyPatch
) -> None:
    worker, runaway = start(OTHER_SESSION, started)
    family = Family(worker.pid, MARK)
    lists = [[one for one in family.members() if one.pid != runaway], family.members(), family.members()]
    signalled: list[int] = []
    with monkeypatch.context() as patch:
        patch.setattr(family_module, "signal_user", lambda user, number: False)
        patch.setattr(Family, "members", lambda self: lists.pop(0))
        patch.setattr(os, "kill", lambda pid, number: signalled.append(pid))
        lists[0].append(Process(7, 1, 7, 7, 0, "born first", 0))
        family.stop()
    family.end()
    assert signalled == [7, runaway]


def test_a_user_of_a_directory_is_nobodys_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    """sssd gives users of a directory numbers up to 2,000,200,000."""
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    users = (0, 1000, 1_073_741_824, 2_000_200_000, 0x78000000 - 1, 0x78000000, 0x78000000 + 2**22 - 1)
    assert [is_own_user(user) for user in users] == [False, False, False, False, False, True, True]
    assert not is_own_user(0x78000000 + 2**22)


def test_no_user_is_a_workers_where_the_referee_is_not_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0x78000000 + 7)
    assert not is_own_user(0x78000000 + 7)
    assert not signal_user(0x78000000 + 7, signal.SIGKILL)


def test_a_signal_reaches_that_user_alone_and_changes_nothing_here() -> None:
    if not may_change_users():
        pytest.skip("only root can send it")
    user = 0x78000000 + 4_000_001
    theirs = [subprocess.Popen(["sleep", "1000"], user=user) for _ in range(2)]
    others = [subprocess.Popen(["sleep", "1000"], user=other) for other in (0, 1000, user + 1)]
    assert signal_user(user, signal.SIGKILL)
    assert [process.wait(20) for process in theirs] == [-signal.SIGKILL] * 2
    assert [process.poll() for process in others] == [None] * 3
    for process in others:
        process.kill()
        process.wait()
    assert os.getresuid() == (0, 0, 0)
    assert ctypes.CDLL(None).prctl(3, 0, 0, 0, 0) == 1  # PR_GET_DUMPABLE


@pytest.mark.parametrize("user", [0, 1000, 65534])
def test_nobody_elses_processes_can_be_signalled(user: int) -> None:
    assert not signal_user(user, signal.SIGCONT)


def test_an_end_that_never_comes_is_not_awaited_for_ever(
    started: list[subprocess.Popen[bytes]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where a process waits in the driver of a GPU that is stuck."""
    worker, _ = start(CHILD, started)
    monkeypatch.setattr(family_module, "_ENDING_S", 0.1)
    monkeypatch.setattr(Family, "_signal", lambda *_: None)  # signals reach it, but it can't end
    Family(worker.pid, MARK).end()
    assert worker.poll() is None
    monkeypatch.undo()
    Family(worker.pid, MARK).end()


def test_an_end_is_awaited_also_where_nothing_tells_any_more_whose_it_is(
    started: list[subprocess.Popen[bytes]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that is ending has lost its environment before it is a zombie."""
    worker, runaway = start(NO_PARENT, started)
    asked = iter([False, False, False])

    def has_ended_late(pid: int, start: int | None = None) -> bool:
        return next(asked, True) if pid == runaway else has_ended(pid, start)

    has_ended = family_module.has_ended
    monkeypatch.setattr(family_module, "has_ended", has_ended_late)
    Family(worker.pid, MARK).end()
    assert not list(asked)
    assert not is_alive(runaway)


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
    assert tells(left.remark, "3 processes", "python, sleep", "1 file of shared memory", "removed")


def test_a_process_has_a_start_and_an_unknown_one_none() -> None:
    assert start_of(os.getpid()) == start_of(os.getpid())
    assert start_of(2**22 + 1) is None


def fork_as(pid: int, code: str, environment: dict[str, str]) -> subprocess.Popen[bytes]:
    """A process of this number, which is free: the machine is asked to give it next."""
    for _ in range(100):
        Path("/proc/sys/kernel/ns_last_pid").write_text(str(pid - 1))
        process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, env=environment)
        if process.pid == pid:
            return process
        process.kill()
        process.communicate()
    pytest.skip("others take the number")


def test_a_number_of_a_stranger_s_is_looked_at_again_when_it_is_another_process(
    started: list[subprocess.Popen[bytes]],
) -> None:
    if not os.access("/proc/sys/kernel/ns_last_pid", os.W_OK):
        pytest.skip("only root chooses numbers of processes")
    worker, _ = start(CHILD, started)
    family = Family(worker.pid, MARK)
    stranger = subprocess.Popen(["sleep", "1000"])
    assert stranger.pid not in {one.pid for one in family.members()}
    stranger.kill()
    stranger.wait()
    started.append(fork_as(stranger.pid, "import time; time.sleep(1000)", {**os.environ, "HARNESS_WORKER": MARK}))
    assert stranger.pid in {one.pid for one in family.members()}
    family.end()


def test_strangers_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    family, stranger = Family(2**22 + 1, MARK), subprocess.Popen(["sleep", "1000"])
    family.members()
    read: list[int] = []
    status = family_module._status
    monkeypatch.setattr(family_module, "_status", lambda pid: read.append(pid) or status(pid))  # type: ignore[func-returns-value]
    family.members()
    assert stranger.pid not in read
    assert 1 not in read
    stranger.kill()
    stranger.wait()
