"""Of the workers at a table one runs at a time: the others stand still (SIGSTOP).

So nothing that a solution leaves running, on the GPU or on the host, falls into a baseline's turn: a GPU that two
processes keep busy is shared in slices of about 2.5 ms, and a baseline that is slowed down would flatter the solution.
"""

from __future__ import annotations

from types import TracebackType

from harness.referee.worker_process import WorkerProcess


class Stillness:
    """Context manager: at its end everybody moves again. A single worker is never stopped."""

    def __init__(self) -> None:
        self._workers: list[WorkerProcess] = []
        self._still: list[WorkerProcess] = []

    def join(self, worker: WorkerProcess) -> None:
        self._workers.append(worker)

    def leave(self, worker: WorkerProcess) -> None:
        """For a worker that is ended."""
        self._workers = [one for one in self._workers if one is not worker]
        self._still = [one for one in self._still if one is not worker]

    def only(self, moving: WorkerProcess | None) -> None:
        """Let this one move, and stop all others; None stops all."""
        for worker in self._workers:
            if worker is not moving and worker not in self._still:
                worker.pause()
                self._still.append(worker)
        if moving in self._still:
            moving.resume()
            self._still.remove(moving)

    def wake(self) -> None:
        """Let everybody move."""
        while self._still:
            self._still.pop().resume()

    def __enter__(self) -> Stillness:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.wake()
