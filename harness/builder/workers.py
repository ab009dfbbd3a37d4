"""The workers of a run: a device's, in sandboxes, lent what was built before, with copies of a solution's files.

The copies are exactly those files that were hashed, but for what is kept back.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from harness.builder import extension_cache, triton_cache
from harness.builder.bytecode import Bytecode
from harness.devices import AccountOfFindings, FindingsWithheld
from harness.devices.base import Host
from harness.errors import HarnessError, MachineError
from harness.model.record import hash_contents
from harness.sandbox.fork_server import ForkServers
from harness.sandbox.outcome import SolutionFailed
from harness.sandbox.process import WorkerProcess
from harness.sandbox.start import Launch, Surroundings, make_launch
from harness.sandbox.wire.layout import solutions_folder
from harness.sandbox.wire.messages import Reply, Request
from harness.workspace.solution import texts_in
from harness.workspace.source_hash import judged_files


@dataclass(frozen=True)
class Workers(AbstractContextManager["Workers"]):
    """Starts workers. `memory_gib` bounds the resident host memory of each; None: most of what is free.

    Setting `stop` makes every wait for a worker raise Interrupted. As a context manager it ends its fork servers.
    """

    host: Host
    cache: Path
    memory_gib: float | None = None
    stop: threading.Event = field(default_factory=threading.Event)
    servers: ForkServers = field(default_factory=ForkServers, compare=False)
    surroundings: Surroundings = field(default_factory=Surroundings)
    facts: dict[str, str] = field(default_factory=dict, compare=False)
    """Facts that are asked of the machine once in a run, by name."""
    lessons: dict[tuple[object, ...], Any] = field(default_factory=dict, compare=False)
    """The lessons of the problem at hand, by its cases (referee.setting)."""
    bytecode: Bytecode = field(default_factory=Bytecode, compare=False)
    idle: list[WorkerProcess] = field(default_factory=list, compare=False)
    """Workers for the next solution: some that have run nothing yet, and some with a module of the reference's."""

    def start(self, for_build: bool = False) -> WorkerProcess:
        """Start a worker that has run nothing yet, or take one that was started ahead. Raises: MachineError."""
        launch = self._launch(for_build)
        return (None if for_build else self._idle_worker(launch, None)) or self._start(launch)

    @contextmanager
    def lend(self, wanted: tuple[object, ...]) -> Iterator[WorkerProcess]:
        """Lend a worker that has made the module of what is `wanted`, if there is one, else start one. It ends with the
        block, unless it has a module then, or has run nothing: a process takes half a second to start, and
        torch.compile() ten seconds.

        Raises: MachineError.
        """
        worker = self._idle_worker(self._launch(for_build=False), wanted) or self.start()
        try:
            yield worker
        finally:
            if worker.made is None and not worker.is_unused:
                worker.close()
            else:
                if worker.made is not None:
                    worker.pause()
                self.idle.append(worker)

    def start_ahead(self, count: int) -> None:
        """Start so many workers for the next solution. Raises: MachineError."""
        for _ in range(count - sum(one.made is None for one in self.idle)):
            self.idle.append(self._start(self._launch(for_build=False)))

    def await_idle(self) -> None:
        """Wait until these can be asked; from then on they stand idle, and disturb nobody who is timed. Those that
        don't come up are ended: whoever needs one starts another. Raises: Interrupted."""
        for worker in list(self.idle):
            try:
                worker.await_start()
            except MachineError:
                self._end([worker])

    @property
    def standing(self) -> list[tuple[object, ...]]:
        """The modules that idle workers have made."""
        return [one.made.of for one in self.idle if one.made is not None]

    def end_others(self, wanted: Collection[tuple[object, ...]]) -> None:
        """End the idle workers that have made other modules than these."""
        self._end([one for one in self.idle if one.made is not None and one.made.of not in wanted])

    def end_idle(self) -> None:
        """End the idle workers, with what they hold of the GPU's memory."""
        self._end(list(self.idle))

    def start_builder(self, key: str) -> WorkerProcess:
        """Start a worker that compiles the text of a key, and runs nothing of it. Raises: MachineError."""
        return self._start(replace(self._launch(for_build=True), builds_texts=True), key)

    def close(self) -> None:
        """End the idle workers and the fork servers."""
        self.end_idle()
        self.servers.close()
        self.bytecode.close()

    def __exit__(self, *_: object) -> None:
        self.close()

    def _idle_worker(self, launch: Launch, wanted: tuple[object, ...] | None) -> WorkerProcess | None:
        """Take an idle worker that has made what is wanted, or nothing."""
        for worker in [one for one in self.idle if (one.made.of if one.made else None) == wanted]:
            self.idle.remove(worker)
            if worker.is_like(launch):
                return worker
            worker.close()
        return None

    def _end(self, ending: list[WorkerProcess]) -> None:
        for worker in ending:
            self.idle.remove(worker)
            worker.kill()
        with ExitStack() as stack:
            for worker in ending:
                stack.callback(worker.close)

    def _start(self, launch: Launch, key: str | None = None) -> WorkerProcess:
        account = AccountOfFindings() if launch.kind.backend == "sim" else None
        return WorkerProcess(
            launch, self.servers, self.stop, self.memory_gib, _BuildAttendant(account, key, self.bytecode)
        )

    def _launch(self, for_build: bool) -> Launch:
        host = self.host
        variables = host.worker_environment(for_build)
        return make_launch(host.name, self.cache, host.worker_arguments(), variables, self.surroundings, for_build)


@dataclass(frozen=True)
class _BuildAttendant:
    """Implements process.Attendant. `key`: what alone is kept of a builder."""

    account: AccountOfFindings | None
    key: str | None
    bytecode: Bytecode

    def check(self, request: Request, reply: Reply) -> Reply:
        if self.account is None:
            return reply
        try:
            return self.account.checked(request, reply)
        except FindingsWithheld as error:
            raise SolutionFailed.cheating("trace", str(error), None, **error.numbers) from None

    def supply(self, worker: WorkerProcess, place: Path) -> None:
        extension_cache.supply(worker)
        triton_cache.supply(worker)
        if self.account is not None:
            self.account.read_files(texts_in(place))

    def collect(self, worker: WorkerProcess) -> None:
        self.bytecode.collect(worker.folder)
        if not worker.has_taken_turns:  # a build could hold answers
            extension_cache.collect(worker, only=self.key)
            if self.key is None:
                triton_cache.collect(worker)


def bring(worker: WorkerProcess, folder: Path, sha256: str | None = None, compilers: str | None = None) -> str:
    """Give a worker a copy of a solution, with what was built earlier for the very same files; the path of
    solution.py there, for Load. With `compilers` it may report texts of extensions, and gets those that were built.

    Raises: HarnessError as seen_files(), MachineError as WorkerProcess.ask().
    """
    worker.compilers = compilers
    worker.holds_solution = True
    place = solutions_folder(worker.folder) / folder.parent.name / folder.name
    return str(worker.bring(seen_files(folder, sha256), place) / "solution.py")


def seen_files(folder: Path, sha256: str | None = None) -> dict[str, bytes]:
    """Return what a worker sees of a solution's folder, by name. What was built from the very same files is known by
    their hash.

    Raises: HarnessError where the folder's hash isn't `sha256` any more.
    """
    contents = {name: path.read_bytes() for name, path in judged_files(folder).items()}
    if sha256 is not None and hash_contents(contents.items()) != sha256:
        raise HarnessError(f"{folder} was changed while it was judged; evaluate it again")
    # What its author expects is none of a solution's business.
    return {name: one for name, one in contents.items() if name != "solution.yaml" and ".git" not in name.split("/")}
