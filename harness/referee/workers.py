"""How a run gets its workers: new processes, or spares that were started ahead."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType

from harness.backends.base import Host
from harness.referee.worker_process import START_S, WorkerProcess
from harness.referee.worker_start import Launch, Spares, Surroundings, make_launch


@dataclass(frozen=True)
class Workers:
    """How workers are started. `memory_gib` bounds the resident host memory of each; None: most of what is free.

    `ahead`: how many workers wait for the next evaluations. Setting `stop` makes every wait for a worker raise
    Interrupted. As a context manager it ends its spares.
    """

    host: Host
    cache: Path
    memory_gib: float | None = None
    stop: threading.Event = field(default_factory=threading.Event)
    ahead: int = 0
    spares: Spares = field(default_factory=Spares, compare=False)
    surroundings: Surroundings = field(default_factory=Surroundings)

    def start(self, for_build: bool = False) -> WorkerProcess:
        """A worker that has run nothing yet: a spare if one waits, else a new process.

        Until then a spare has not touched the GPU, which another run may measure on while it waits.
        """
        launch = self._launch(for_build)
        return WorkerProcess(launch, self.spares.take(launch), self.stop, self.memory_gib)

    def replenish(self) -> None:
        """Start workers for the next evaluations, now that this one has its own. Called by a thread that outlives them.

        Not before the next one would lack its two: nothing is timed while workers start, so many start at once.
        """
        if self.ahead:
            self.spares.keep(self._launch(for_build=False), self.ahead, least=2)

    def keep_ready(self, builds: int, measured: int) -> None:
        """Start as many as these numbers lack, of both kinds. Called by a thread that outlives them."""
        self.spares.keep(self._launch(for_build=True), builds)
        self.spares.keep(self._launch(for_build=False), measured)

    def settle(self) -> None:
        """Wait until every spare has started, which would disturb what is timed."""
        self.spares.settle(START_S)

    def close(self) -> None:
        """End the spares."""
        self.spares.close()

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()

    def _launch(self, for_build: bool) -> Launch:
        host = self.host
        variables = host.worker_environment(for_build)
        return make_launch(host.name, self.cache, host.worker_arguments(), variables, self.surroundings, for_build)
