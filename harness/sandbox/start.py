"""The start of a worker: what it is started with, and what there is to hold it by.

It runs one arm and is ended with it, so that no two solutions ever meet in a process.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
import socket
import subprocess
import tempfile
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from harness.model.environment import BackendName
from harness.sandbox.family import Family, Leftovers
from harness.sandbox.folder import make_folder, remove_folder
from harness.sandbox.fork_server import ForkServers, Kind, WorkerOutput
from harness.sandbox.variables import of_own_folder, scrubbed
from harness.sandbox.wire.layout import own_shared_memory
from harness.sandbox.wire.means import Level
from harness.sandbox.wire.sandbox import NO_MARK, Sandbox

_REAPING_S = 1
_OF_WORKSPACE = ("problems", "solutions", "results", "tests", ".git")


@dataclass(frozen=True)
class Launch:
    """Everything that a worker's process is started with."""

    kind: Kind
    cache: Path
    for_build: bool = False
    builds_texts: bool = False
    least: Level = "none"
    """The least level of confinement at which a solution is loaded."""


@dataclass(frozen=True)
class Surroundings:
    """The part of the machine that a worker may not read, and the part of the environment that it gets besides
    compilers' variables.

    `hidden` are folders; the cache and the temporary folder come on top. `passed` are names of variables. `least`: the
    least level of confinement that will do.
    """

    hidden: tuple[Path, ...] = ()
    passed: tuple[str, ...] = ()
    least: Level = "none"


def surroundings_of(workspace: Path, results: Path, passed: Sequence[str], least: Level = "none") -> Surroundings:
    """Return those of a run in a workspace: others' solutions, problems with their cases, and what was found so far are
    hidden."""
    _make(results)
    return Surroundings((*(workspace / name for name in _OF_WORKSPACE), results), tuple(passed), least)


def make_launch(
    backend: BackendName,
    cache: Path,
    arguments: list[str],
    of_backend: Mapping[str, str],
    surroundings: Surroundings = Surroundings(),
    for_build: bool = False,
) -> Launch:
    """A launch from this process's environment as it is now, and what the backend adds to it."""
    _make(cache)
    environment = {**scrubbed(os.environ, surroundings.passed), **of_backend}
    named = (*surroundings.hidden, cache, Path(tempfile.gettempdir()), Path("/tmp"), Path("/var/tmp"))
    places = {os.path.abspath(path) for path in named}
    variables = tuple(sorted(environment.items()))
    sandbox = Sandbox(tempfile.gettempdir(), tuple(sorted(places)), os.path.expanduser("~"), os.getpid())
    return Launch(Kind(backend, tuple(arguments), variables, sandbox), cache, for_build, least=surroundings.least)


def _make(folder: Path) -> None:
    """Make the folder, since bubblewrap can hide only what is there when a server starts. Where it can't be made,
    whoever wants it says so."""
    with contextlib.suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)


class StartedWorker:
    """A process in an empty folder of its own, the referee's end of its socket, and what it prints."""

    def __init__(self, launch: Launch, servers: ForkServers, stop: threading.Event) -> None:
        """Start a worker. Raises: MachineError, Interrupted once `stop` is set."""
        self.folder = make_folder()
        mark = secrets.token_hex(len(NO_MARK) // 2)
        common, folder = launch.kind.sandbox, str(self.folder)
        sandbox = replace(
            common,
            folder=folder,
            for_build=launch.for_build,
            builds_texts=launch.builds_texts,
            is_apart=launch.for_build or launch.kind.backend != "cuda",  # CUDA's files in /dev/shm are all processes'
        )
        ours, theirs = socket.socketpair()
        printed, printing = os.pipe()
        try:
            with theirs, os.fdopen(printing, "wb"):
                given = theirs.fileno(), printing
                server = servers.server(launch.kind)
                self.process = server.fork(sandbox, of_own_folder(self.folder, mark), given, stop)
        except BaseException:
            ours.close()
            os.close(printed)
            remove_folder(self.folder)
            raise
        self.socket = ours
        self.family = Family(self.process.pid, mark, own_shared_memory(self.folder))
        self.leftovers = Leftovers()
        """The leftovers, known once it is ended."""
        self._is_ended = False
        self.output = WorkerOutput(os.fdopen(printed, "rb"))

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
        """End the worker like end(), and remove its folder."""
        try:
            self.end()
        finally:
            remove_folder(self.folder)
