"""The executors of this machine: threads that build, and one for each lane."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Generator, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

from harness.model.evaluation import Evaluation
from harness.run.dispatch import Bounds, dispatch
from harness.run.executor import Answer, Office, Ticket

_LOG = logging.getLogger("harness")
_PATIENCE_S = 3.0


@dataclass(frozen=True)
class Shape:
    """The width of a run: threads that build, lanes that judge, and how many solutions may be ahead of the lanes.

    `alternates`: never build and judge at the same time; up to `ahead` are built, then judged.
    """

    builders: int
    lanes: int
    ahead: int
    alternates: bool = False


class Threads:
    """Implements executor.Executor with threads of this process. What is raised in one ends the run."""

    name = "this machine"
    builds = False

    def __init__(self, is_lane: bool, slots: int, enter: Callable[[], None], work: Callable[[Ticket], Answer]) -> None:
        """`enter` is called first in each thread."""
        self.is_lane = is_lane
        self.slots = slots
        self._work = work
        self._pool = ThreadPoolExecutor(slots, "harness-lane" if is_lane else "harness-builder", enter)

    def opened(self) -> Future[None]:
        return self._pool.submit(lambda: None)

    def begin(self, ticket: Ticket) -> Future[Answer]:
        return self._pool.submit(self._answer, ticket)

    def reopen(self) -> None:
        """Do nothing: there are no others."""

    def end(self) -> None:
        """Begin nothing more, and wait for what is under way."""
        self._pool.shutdown(cancel_futures=True)

    def _answer(self, ticket: Ticket) -> Answer:
        try:
            return self._work(ticket)
        except BaseException as error:  # the border of the thread: raised again where the results are read
            return Answer(fatal=error)


def run_threads(
    tickets: Iterable[Ticket], executors: Sequence[Threads], shape: Shape, stop: threading.Event
) -> Generator[Evaluation, None, None]:
    """Dispatch to threads, see dispatch(). However it ends (an error, Ctrl-C, a reader who has had enough) they are
    waited for, but for one in which `tickets` doesn't answer: nothing can end that wait."""
    bounds = Bounds(shape.ahead + shape.lanes, 1, shape.alternates, attempts=1, patience_s=None)
    try:
        yield from dispatch(tickets, executors, Office(), stop, bounds)
    finally:
        _end(executors)


def _end(executors: Sequence[Threads]) -> None:
    """Say so when that takes its time: nothing ends a call of torch's, or of a problem's code."""

    def end_all() -> None:
        for executor in executors:
            executor.end()

    ending = threading.Thread(target=end_all)
    ending.start()
    ending.join(_PATIENCE_S)
    if ending.is_alive():
        _LOG.warning("harness: waiting for what is under way in this process; Ctrl-C (again) waits no longer")
        ending.join()
