"""Starting workers, also ahead of need: importing torch and making a CUDA context takes about four seconds.

A spare has run nothing but our own code. It is taken once, for one arm, and ended with it, so that no two solutions
ever meet in a process.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import select
import signal
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.protocol.cell import Cell
from harness.protocol.layout import scratch_folder
from harness.records.environment import BackendName
from harness.referee.family import Family, Leftovers
from harness.referee.own_python import own_python
from harness.referee.worker_environment import of_own_folder, scrubbed
from harness.referee.worker_folder import make_folder, remove_folder
from harness.referee.worker_output import WorkerOutput

_REAPING_S = 1
_OF_WORKSPACE = ("problems", "solutions", "results", "tests", ".git")


@dataclass(frozen=True)
class Launch:
    """Everything that a worker's process is started with; spares of equal launches can stand in for each other."""

    backend: BackendName
    cache: Path
    arguments: tuple[str, ...]
    environment: tuple[tuple[str, str], ...]
    hidden: tuple[str, ...] = ()
    for_build: bool = False


@dataclass(frozen=True)
class Surroundings:
    """What of the machine a worker may not read, and what of the environment it gets besides compilers' variables.

    `hidden` are folders, the cache and the temporary folder come on top; `passed` are names of variables.
    """

    hidden: tuple[Path, ...] = ()
    passed: tuple[str, ...] = ()


def surroundings_of(workspace: Path, results: Path, passed: Sequence[str]) -> Surroundings:
    """Of a run in a workspace: others' solutions, problems with their cases, and what was found so far are hidden."""
    return Surroundings((*(workspace / name for name in _OF_WORKSPACE), results), tuple(passed))


def make_launch(
    backend: BackendName,
    cache: Path,
    arguments: list[str],
    of_backend: Mapping[str, str],
    surroundings: Surroundings = Surroundings(),
    for_build: bool = False,
) -> Launch:
    """A launch from this process's environment as it is now, and what the backend adds to it."""
    environment = {**scrubbed(os.environ, surroundings.passed), **of_backend}
    named = (*surroundings.hidden, cache, Path(tempfile.gettempdir()), Path("/tmp"), Path("/var/tmp"))
    places = {os.path.abspath(path) for path in named}
    variables = tuple(sorted(environment.items()))
    return Launch(backend, cache, tuple(arguments), variables, tuple(sorted(places)), for_build)


class StartedWorker:
    """A process in an empty folder of its own, the referee's end of its socket, and what it prints."""

    def __init__(self, launch: Launch) -> None:
        ours, theirs = socket.socketpair()
        self.folder = make_folder()
        mark = secrets.token_hex(16)
        cell = Cell(str(self.folder), launch.hidden, os.path.expanduser("~"), os.getpid(), launch.for_build)
        told = (str(theirs.fileno()), launch.backend, cell.to_argument(), *launch.arguments)
        with theirs:
            self.process = subprocess.Popen(
                own_python("harness.worker", *told),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                pass_fds=[theirs.fileno()],
                start_new_session=True,
                env={**dict(launch.environment), **of_own_folder(self.folder, mark)},
                cwd=scratch_folder(self.folder) / "work",
            )
        self.socket = ours
        self.family = Family(self.process.pid, mark)
        self.leftovers = Leftovers()
        """Known once it is ended."""
        self._is_ended = False
        self.output = WorkerOutput(self.process.stdout)

    def kill(self) -> None:
        """End the whole process group, at once. It is gone half a second later, when the driver has cleaned up."""
        if self._is_ended:
            return  # its number may be another's by now
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)

    def end(self) -> None:
        """End the process and all that it has started, and wait for them. Its folder stays."""
        if self._is_ended:
            return
        self.socket.close()
        self.leftovers = self.family.end()
        self._is_ended = True
        with contextlib.suppress(subprocess.TimeoutExpired):  # the family's end has waited long enough for it
            self.process.wait(_REAPING_S)
        self.output.finish()

    def close(self) -> None:
        """end(), and remove its folder."""
        try:
            self.end()
        finally:
            remove_folder(self.folder)


def _move(pid: int, cpus: set[int], nice: int | None) -> None:
    """Give every thread of a process these CPUs, and a priority."""
    with contextlib.suppress(OSError):  # it has ended
        for thread in map(int, os.listdir(f"/proc/{pid}/task")):
            with contextlib.suppress(OSError):  # a thread has, or lower niceness is not ours to give
                os.sched_setaffinity(thread, cpus)
                if nice is not None:
                    os.setpriority(os.PRIO_PROCESS, thread, nice)


class Spares:
    """Workers started ahead. Safe to share between threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: list[tuple[Launch, StartedWorker]] = []

    def keep(self, launch: Launch, count: int, least: int | None = None) -> None:
        """Start as many as `count` lacks, on all CPUs of this process; only where fewer than `least` wait.

        To be called by a thread that outlives them: the kernel ends a worker with the thread that started it (prctl(2),
        PR_SET_PDEATHSIG).
        """
        with self._lock:
            there = sum(1 for other, worker in self._waiting if other == launch and worker.process.poll() is None)
            if there < (count if least is None else least):
                self._waiting += [(launch, StartedWorker(launch)) for _ in range(count - there)]
            cpus = os.sched_getaffinity(os.getpid())  # of the main thread, which no lane is pinned to
            for _, worker in self._waiting:
                _move(worker.process.pid, cpus, nice=None)

    def take(self, launch: Launch) -> StartedWorker | None:
        """The spare that was started first, moved to the caller's CPUs; None where no living one waits.

        Its end is the taker's to bring about.
        """
        dead = []
        try:
            with self._lock:
                for entry in [entry for entry in self._waiting if entry[0] == launch]:
                    self._waiting.remove(entry)
                    # As if the caller had started it: by then a lane's thread keeps to the lane's CPUs.
                    if entry[1].process.poll() is None:
                        nice = os.getpriority(os.PRIO_PROCESS, threading.get_native_id())
                        _move(entry[1].process.pid, os.sched_getaffinity(0), nice)
                        return entry[1]
                    dead.append(entry[1])
        finally:
            for worker in dead:
                worker.close()
        return None

    def settle(self, timeout_s: float) -> None:
        """Wait until no spare is busy starting, which would disturb what is measured."""
        deadline = time.monotonic() + timeout_s
        with self._lock:
            sockets = [worker.socket for _, worker in self._waiting]
        while sockets and (left := deadline - time.monotonic()) > 0:
            spoke = select.select(sockets, [], [], left)[0]  # ready, or gone
            sockets = [other for other in sockets if other not in spoke]

    def close(self) -> None:
        """End them all."""
        with self._lock:
            waiting, self._waiting = self._waiting, []
        for _, worker in waiting:
            worker.kill()
        for _, worker in waiting:
            worker.close()
