"""Of the workers at a table one runs at a time, and none between turns: the others stand still (SIGSTOP).

So nothing that a solution leaves running, on the GPU or on the host, falls into a baseline's turn: a GPU that two
processes keep busy is shared in slices of about 2.5 ms, and a baseline that is slowed down would flatter the solution.
And no thread of a solution writes an answer into the shared buffers once its turn is over. Every turn ends so, timed or
not: who waits for SIGCONT learns nothing.
"""

from __future__ import annotations

from types import TracebackType

from harness.sandbox.process import WorkerProcess


class Stillness:
    """Context manager: at its end everybody moves again."""

    def __init__(self) -> None:
        self._workers: list[WorkerProcess] = []

    def join(self, worker: WorkerProcess) -> None:
        self._workers.append(worker)

    def leave(self, worker: WorkerProcess) -> None:
        """For a worker that is ended."""
        self._workers = [one for one in self._workers if one is not worker]

    def only(self, moving: WorkerProcess | None) -> None:
        """Let this one move, and stop all others; None stops all. Where there is nobody to be disturbed the process's
        own group is enough, which takes microseconds. Whoever is to move gets here last, once all lies ready."""
        for worker in self._workers:
            if worker is not moving:
                worker.pause(thoroughly=len(self._workers) > 1)
        if moving is not None:
            moving.resume()

    def wake(self) -> None:
        """Let everybody move."""
        for worker in self._workers:
            worker.resume()

    def __enter__(self) -> Stillness:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.wake()
