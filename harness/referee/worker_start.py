"""Starting workers, also ahead of need: importing torch and making a CUDA context takes about four seconds.

A spare has run nothing but our own code. It is taken once, for one arm, and ended with it, so that no two solutions
ever meet in a process.
"""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from harness.records.environment import BackendName
from harness.referee.own_python import own_python
from harness.referee.worker_output import WorkerOutput

_SET_BY_TORCH = {"CUDA_MODULE_LOADING", "DISABLE_CUPTI_LAZY_REINIT", "TEARDOWN_CUPTI"}
"""When it is imported or first used; a worker's own torch sets them anew, and spares are started before."""


@dataclass(frozen=True)
class Launch:
    """Everything that a worker's process is started with; spares of equal launches can stand in for each other."""

    backend: BackendName
    cache: Path
    arguments: tuple[str, ...]
    environment: tuple[tuple[str, str], ...]


def make_launch(backend: BackendName, cache: Path, arguments: list[str], of_backend: Mapping[str, str]) -> Launch:
    """A launch from this process's environment as it is now, and what the backend adds to it.

    Workers stand in other folders: relative entries of PYTHONPATH are resolved here, empty ones dropped. PYTHONSAFEPATH
    is for the processes that a worker starts.
    """
    package_root = str(Path(__file__).parents[2])
    ours = {name: value for name, value in os.environ.items() if name not in _SET_BY_TORCH}
    inherited = {**ours, "PYTHONUNBUFFERED": "1", "PYTHONDONTWRITEBYTECODE": "1", "PYTHONSAFEPATH": "1"}
    theirs = [os.path.abspath(entry) for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep) if entry]
    path = os.pathsep.join([package_root, *theirs])
    environment = {**inherited, "PYTHONPATH": path, **of_backend}
    return Launch(backend, cache, tuple(arguments), tuple(sorted(environment.items())))


class StartedWorker:
    """A process in an empty folder of its own, the referee's end of its socket, and what it prints."""

    def __init__(self, launch: Launch) -> None:
        ours, theirs = socket.socketpair()
        self._folder = tempfile.mkdtemp(prefix="harness-worker-")
        with theirs:
            self.process = subprocess.Popen(
                own_python(
                    "harness.worker", str(theirs.fileno()), launch.backend, str(launch.cache), *launch.arguments
                ),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                pass_fds=[theirs.fileno()],
                start_new_session=True,
                env=dict(launch.environment),
                cwd=self._folder,
            )
        self.socket = ours
        self._is_closed = False
        self.output = WorkerOutput(self.process.stdout)

    def kill(self) -> None:
        """End the whole process group, at once. It is gone half a second later, when the driver has cleaned up."""
        if self._is_closed:
            return  # its number may be another's by now
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)

    def close(self) -> None:
        """End the whole process group, wait for it, and remove its folder."""
        self.socket.close()
        self.kill()
        self._is_closed = True
        self.process.wait()
        self.output.finish()
        with contextlib.suppress(RecursionError):  # folders in folders, made to be that deep
            shutil.rmtree(self._folder, ignore_errors=True)


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
