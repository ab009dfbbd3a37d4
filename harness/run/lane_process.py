"""`python -m harness.run.lane_process FD`: the referee of one GPU, started by lane.ProcessLane.

FD is its end of a pipe: settings first, then assignments; notes and evaluations go back. When the pipe closes, the
workers end at once and so does this process.
"""

from __future__ import annotations

import queue
import sys
import threading
from multiprocessing.connection import Connection

from harness.builder.workers import Workers
from harness.errors import HarnessError, Interrupted
from harness.referee.outage import Outage
from harness.run.cores import keep_thread_to
from harness.run.lane import Assignment, LaneSettings, LocalLane
from harness.sandbox.process import TextsNotBuilt


def main() -> None:
    pipe = Connection(int(sys.argv[1]))
    settings: LaneSettings = pipe.recv()
    keep_thread_to(settings.cpus)  # before torch starts threads of its own
    stop = threading.Event()
    assignments: queue.SimpleQueue[Assignment | None] = queue.SimpleQueue()
    threading.Thread(target=_receive, args=(pipe, assignments, stop), daemon=True).start()
    lane = _open(settings, stop)
    with lane.workers:
        _serve(pipe, assignments, lane)


def _open(settings: LaneSettings, stop: threading.Event) -> LocalLane:
    from harness.devices import open_host
    from harness.referee.unchanged import remember_harness

    remember_harness()
    host = open_host(settings.backend, settings.cache, lambda what: None, settings.sanitize)
    return LocalLane(
        Workers(host, settings.cache, settings.memory_gib, stop, surroundings=settings.surroundings), settings.lock
    )


def _receive(pipe: Connection, assignments: queue.SimpleQueue[Assignment | None], stop: threading.Event) -> None:
    """Hear the other side hang up, whatever the lane is doing."""
    try:
        while True:
            assignments.put(pipe.recv())
    except (EOFError, OSError):
        stop.set()
        assignments.put(None)


def _serve(pipe: Connection, assignments: queue.SimpleQueue[Assignment | None], lane: LocalLane) -> None:
    while (assignment := assignments.get()) is not None:
        try:
            try:
                pipe.send(("done", lane.evaluate(assignment, lambda what: pipe.send(("note", what)))))
            except (TextsNotBuilt, Outage) as error:
                pipe.send(("not done", error))
            lane.examine()
            pipe.send(("alive", ""))
        except (Interrupted, BrokenPipeError, ConnectionResetError):
            return
        except HarnessError as error:
            pipe.send(("failed", str(error)))


if __name__ == "__main__":
    main()
