"""All processes of one worker, also those that have left its session or lost their parent (proc(5))."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from harness.model.plural import several
from harness.sandbox.held_files import FileKey, files_held, read_proc
from harness.sandbox.shared_memory import remove_shared_memory, shared_memory_of
from harness.sandbox.user_signal import is_own_user, signal_user
from harness.sandbox.wire.sandbox import MARK, user_of

_ROUNDS = 50
"""The number of looks for processes that were born meanwhile: 0.2 s, where few processes live."""
_ENDING_S = 60
"""A process that waits in the driver can't be ended (uninterruptible sleep, as on a GPU that is stuck). Then the run
goes on to the check of the GPU's health, which ends it."""
_ROUND_S = 0.005
_NAME_CHARS = 40


@dataclass(frozen=True)
class Process:
    pid: int
    parent: int
    group: int
    session: int
    user: int
    name: str
    anonymous_bytes: int
    """Resident memory of no file; what it shares with the process that it was forked from counts for both."""


@dataclass(frozen=True)
class Leftovers:
    """Processes and memory that a worker's end didn't take along: names of processes outside its group, and shared
    memory by name."""

    processes: tuple[str, ...] = ()
    shared_memory: tuple[str, ...] = ()

    @property
    def remark(self) -> str | None:
        """A sentence on what was left behind; None where there was nothing."""
        said = []
        if self.processes:
            names = ", ".join(sorted({name[:_NAME_CHARS] for name in self.processes})[:5])
            said.append(f"{several(len(self.processes), 'process', 'processes')} that had left its group ({names})")
        if self.shared_memory:
            said.append(f"{several(len(self.shared_memory), 'file')} of shared memory")
        return f"the solution left behind {' and '.join(said)}; they were removed" if said else None


class Family:
    """The processes of the worker `leader`; those of a user of its own, if it has one, else those that bear `mark`.

    A process that leaves the session, loses its parent and forgets its environment is found by its user alone. With
    such a user they are all signalled at once; else one by one, until no new one is found.
    """

    def __init__(self, leader: int, mark: str, own_memory: Path | None = None) -> None:
        """`own_memory`: the folder that it sees as /dev/shm, if it has one."""
        self._leader = leader
        self._own_memory = own_memory
        self._start = start_of(leader)
        self._mark = f"{MARK}={mark}".encode()
        self._strangers: dict[int, int] = {}
        self._user: int | None = None

    def members(self) -> list[Process]:
        """List the processes that live, the leader included. No stranger is looked at twice: that takes 0.15 ms for
        each process of the machine, and workers are stopped and woken for every turn."""
        inodes = _inodes()
        known = self._strangers.items() & inodes.items()
        everybody = list(_living(sorted(inodes.keys() - dict(known), reverse=True)))  # the newest are gone the soonest
        found = {one.pid for one in everybody if self._is_member(one)}
        while more := {one.pid for one in everybody if one.parent in found} - found:
            found |= more
        self._strangers = {**dict(known), **{one.pid: inodes[one.pid] for one in everybody if one.pid not in found}}
        return [one for one in everybody if one.pid in found]

    def shared_memory(self) -> list[Path]:
        """List its files and folders in /dev/shm."""
        return shared_memory_of(user_of(self._leader), self._own_memory)

    def files_held(self, members: Iterable[Process]) -> tuple[dict[FileKey, int], int]:
        """Look for the files without a name that these of its processes hold, as files_held() does."""
        return files_held([one.pid for one in members], user_of(self._leader))

    def stop(self, thoroughly: bool = True) -> None:
        """Have them all stand still (SIGSTOP); what the GPU has been asked for it still does. If not `thoroughly` only
        the leader's group, which takes microseconds."""
        self._signal(signal.SIGSTOP, thoroughly)

    def go_on(self, thoroughly: bool = True) -> None:
        self._signal(signal.SIGCONT, thoroughly)

    def end(self) -> Leftovers:
        """End them all and wait for their ends, a minute at most; the leader's remains to be reaped. What they left is
        removed."""
        self.stop()  # or some would flee from being counted
        members = self.members()
        strays = [one for one in members if one.group != self._leader]
        known = {self._leader: None} | {one.pid: start_of(one.pid) for one in members}
        deadline = time.monotonic() + _ENDING_S
        while True:
            self._signal(signal.SIGKILL)  # again: who was born meanwhile
            # Who is ending has no environment any more by which it could be found.
            if (all(has_ended(*one) for one in known.items()) and not self.members()) or time.monotonic() > deadline:
                break
            time.sleep(_ROUND_S)
        shared = remove_shared_memory(user_of(self._leader), self._own_memory)
        return Leftovers(tuple(one.name for one in strays), shared)

    def _signal(self, number: signal.Signals, thoroughly: bool = True) -> None:
        if start_of(self._leader) == self._start:  # or its number may be another's
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._leader, number)
        if not thoroughly or (signal_user(user_of(self._leader), number) and self._has_own_user()):
            return
        signalled: set[int] = set()
        for _ in range(_ROUNDS):
            new = [one for one in self.members() if one.group != self._leader and one.pid not in signalled]
            if not new:
                return
            for one in new:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(one.pid, number)
            signalled |= {one.pid for one in new}

    def _has_own_user(self) -> bool:
        """Say whether the worker has a user of its own. This is known once seen, so also when the leader is gone. A
        worker is given its user before it runs anything."""
        if self._user is None:
            with contextlib.suppress(OSError):
                user = os.stat(f"/proc/{self._leader}").st_uid
                self._user = user if user == user_of(self._leader) and is_own_user(user) else None
        return self._user is not None

    def _is_member(self, one: Process) -> bool:
        if one.pid == os.getpid():
            return False
        if one.session == self._leader or (one.user == user_of(self._leader) and is_own_user(one.user)):
            return True
        return one.user == os.getuid() and self._mark in read_proc(one.pid, "environ")


def start_of(pid: int) -> int | None:
    """Return when a process started, in ticks since boot: with its number, that names it for good. It is None where the
    process is gone."""
    try:
        return int(read_proc(pid, "stat").rpartition(b")")[2].split()[19])
    except (IndexError, ValueError):
        return None


def has_ended(pid: int, start: int | None = None) -> bool:
    """Say whether a process is gone, or is there for its parent alone: a zombie of which no thread goes on. `start`
    says when it started, where its number may be another's by now."""
    if start is not None and start_of(pid) != start:
        return True
    try:
        state = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0]
        return state in (b"Z", b"X") and len(os.listdir(f"/proc/{pid}/task")) <= 1
    except (FileNotFoundError, ProcessLookupError):
        return True


def _inodes() -> dict[int, int]:
    """All processes by their numbers, each with the inode of its folder in /proc. That one is made for the process and
    goes with it, so that it tells a process from a later one of the same number, as its start does; and one list has
    them all (for 120 processes 0.4 ms, where reading their starts takes 7)."""
    with os.scandir("/proc") as entries:
        return {int(entry.name): entry.inode() for entry in entries if entry.name.isdigit()}


def _living(pids: Iterable[int]) -> Iterator[Process]:
    """Yield the processes that live; zombies are left out."""
    for pid in pids:
        with contextlib.suppress(OSError, KeyError, ValueError):
            facts = _status(pid)
            if facts["State"][:1] not in ("Z", "X"):
                yield _process(pid, facts)


def _status(pid: int) -> dict[str, str]:
    text = Path(f"/proc/{pid}/status").read_text(encoding="ascii", errors="replace")
    return {key: value.strip() for key, _, value in (line.partition(":") for line in text.splitlines())}


def _process(pid: int, facts: dict[str, str]) -> Process:
    return Process(
        pid=pid,
        parent=int(facts["PPid"]),
        group=int(facts["NSpgid"].split()[0]) if "NSpgid" in facts else os.getpgid(pid),
        session=int(facts["NSsid"].split()[0]) if "NSsid" in facts else os.getsid(pid),
        user=int(facts["Uid"].split()[0]),
        name=facts["Name"],
        anonymous_bytes=int(facts.get("RssAnon", "0").split()[0]) * 1024,
    )
