"""How a run gets its workers."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import TracebackType

from harness.devices.base import Host
from harness.sandbox.fork_server import ForkServers
from harness.sandbox.process import WorkerProcess
from harness.sandbox.start import Launch, Surroundings, make_launch


@dataclass(frozen=True)
class Workers:
    """How workers are started. `memory_gib` bounds the resident host memory of each; None: most of what is free.

    Setting `stop` makes every wait for a worker raise Interrupted. As a context manager it ends its fork servers.
    """

    host: Host
    cache: Path
    memory_gib: float | None = None
    stop: threading.Event = field(default_factory=threading.Event)
    servers: ForkServers = field(default_factory=ForkServers, compare=False)
    surroundings: Surroundings = field(default_factory=Surroundings)
    facts: dict[str, str] = field(default_factory=dict, compare=False)
    """What is asked of the machine once in a run, by name."""

    def start(self, for_build: bool = False) -> WorkerProcess:
        """A worker that has run nothing yet. Raises: MachineError."""
        return WorkerProcess(self._launch(for_build), self.servers, self.stop, self.memory_gib)

    def start_builder(self) -> WorkerProcess:
        """A worker for build_text(). Raises: MachineError."""
        launch = replace(self._launch(for_build=True), builds_texts=True)
        return WorkerProcess(launch, self.servers, self.stop, self.memory_gib)

    def close(self) -> None:
        """End the fork servers."""
        self.servers.close()

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()

    def _launch(self, for_build: bool) -> Launch:
        host = self.host
        variables = host.worker_environment(for_build)
        return make_launch(host.name, self.cache, host.worker_arguments(), variables, self.surroundings, for_build)
