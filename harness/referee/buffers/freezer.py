"""One worker runs at a time, and none between turns: the others are frozen (SIGSTOP).

So nothing that a solution leaves running, on the GPU or on the host, falls into a baseline's turn: a GPU that two
processes keep busy is shared in slices of about 2.5 ms, and a baseline that is slowed down would flatter the solution.
And no thread of a solution writes an answer into the shared buffers once its turn is over. Every turn ends so, timed or
not: code that waits for SIGCONT learns nothing.
"""

from __future__ import annotations

from harness.sandbox.process import WorkerProcess


class Freezer:
    """Freezes and thaws the workers that it was given."""

    def __init__(self) -> None:
        self.workers: tuple[WorkerProcess, ...] = ()

    def add(self, worker: WorkerProcess) -> None:
        """Freeze this one with the others from now on."""
        self.workers = (*self.workers, worker)

    def remove(self, worker: WorkerProcess) -> None:
        """Forget a worker that is ended."""
        self.workers = tuple(one for one in self.workers if one is not worker)

    def freeze(self) -> None:
        """Stop all of them."""
        self._freeze_others(None)

    def thaw_only(self, worker: WorkerProcess) -> None:
        """Let this one run, and stop all others. It is thawed last, once all lies ready."""
        self._freeze_others(worker)
        worker.resume()

    def thaw(self) -> None:
        """Let all of them run."""
        for worker in self.workers:
            worker.resume()

    def _freeze_others(self, running: WorkerProcess | None) -> None:
        """A worker that could disturb nobody is stopped with its own process group alone, which takes microseconds."""
        for worker in self.workers:
            if worker is not running:
                worker.pause(thoroughly=len(self.workers) > 1)
