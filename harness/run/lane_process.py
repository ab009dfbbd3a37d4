"""`python -m harness.run.lane_process FD`: the referee of one GPU, started by lane.ProcessLane.

FD is its end of a pipe: settings first, then an opening, and assignments; notes and evaluations go back. When the pipe
closes, the workers end at once and so does this process.
"""

from __future__ import annotations

import queue
import sys
import threading
from multiprocessing.connection import Connection

from harness.builder.workers import Workers
from harness.errors import HarnessError, Interrupted, MachineError
from harness.model.config import Config
from harness.model.environment import Environment
from harness.referee.outage import Outage
from harness.run.cores import keep_thread_to
from harness.run.lane import Assignment, LaneSettings, LocalLane
from harness.sandbox.process import TextsNotBuilt

_Asked = queue.SimpleQueue[tuple[Config, Environment] | Assignment | None]
"""Arguments of Lane.open(), and of Lane.evaluate()."""


def main() -> None:
    pipe = Connection(int(sys.argv[1]))
    settings: LaneSettings = pipe.recv()
    keep_thread_to(settings.cpus)  # before torch starts threads of its own
    stop = threading.Event()
    asked: _Asked = queue.SimpleQueue()
    threading.Thread(target=_receive, args=(pipe, asked, stop), daemon=True).start()
    lane = _make(settings, stop)
    with lane.workers:
        _serve(pipe, asked, lane)


def _make(settings: LaneSettings, stop: threading.Event) -> LocalLane:
    from harness.devices import open_host
    from harness.referee.unchanged import remember_harness

    remember_harness()
    host = open_host(settings.backend, settings.cache, lambda what: None, settings.sanitize)
    return LocalLane(
        Workers(host, settings.cache, settings.memory_gib, stop, surroundings=settings.surroundings), settings.lock
    )


def _receive(pipe: Connection, asked: _Asked, stop: threading.Event) -> None:
    """Hear the other side hang up, whatever the lane is doing."""
    try:
        while True:
            asked.put(pipe.recv())
    except (EOFError, OSError):
        stop.set()
        asked.put(None)


def _serve(pipe: Connection, asked: _Asked, lane: LocalLane) -> None:
    while (assignment := asked.get()) is not None:
        if isinstance(assignment, tuple):
            lane.open(*assignment)
            continue
        try:
            try:
                pipe.send(lane.evaluate(assignment, pipe.send))
            except (TextsNotBuilt, Outage) as error:
                pipe.send(error)
            lane.examine()
            pipe.send("alive")
        except (Interrupted, BrokenPipeError, ConnectionResetError):
            return
        except HarnessError as error:
            pipe.send(MachineError(str(error)))


if __name__ == "__main__":
    main()
