"""Two stages with a bounded queue between them: many things are prepared at once, few are measured.

It knows nothing of what is prepared or measured; tests give it functions of their own.
"""

from __future__ import annotations

import logging
import threading
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")  # a task
P = TypeVar("P")  # a task prepared
R = TypeVar("R")  # its result

_LOG = logging.getLogger("harness")
_PATIENCE_S = 3.0


@dataclass(frozen=True)
class Finished(Generic[R]):
    """A task that needn't be measured: its result is known."""

    result: R


@dataclass(frozen=True)
class Again(Generic[T]):
    """A task that has to be prepared once more before it can be measured."""

    task: T


@dataclass(frozen=True)
class Shape:
    """The width of the pipeline: threads that prepare, lanes that measure, and how many tasks may wait between them.

    `alternates`: never prepare and measure at the same time; up to `ahead` tasks are prepared, then measured.
    """

    preparers: int
    lanes: int
    ahead: int
    alternates: bool = False


class Stages(ABC, Generic[T, P, R]):
    """The steps that are done with a task. Whatever `prepare`, `measure`, `keep` or `examine` raise ends the run."""

    @abstractmethod
    def prepare(self, task: T) -> P | Finished[R]:
        """Make a task ready for a lane, or find its result without one."""

    @abstractmethod
    def measure(self, item: P, lane: int) -> R | Again[T]:
        """Find the result on this lane."""

    def overlapped(self, result: R) -> R:
        """The result of an item during whose measurement something was being prepared."""
        return result

    def keep(self, result: R) -> None:
        """Save a result before it can be read, in the thread that found it, where no Ctrl-C interrupts it."""

    def enter_preparer(self) -> None:
        """Enter a thread that prepares; this is called first in each."""

    def enter_lane(self, lane: int) -> None:
        """Enter the thread of a lane; this is called first in each."""

    def examine(self, lane: int) -> None:
        """Look at the lane once its result is kept."""


def run_pipeline(
    tasks: Iterable[T], stages: Stages[T, P, R], shape: Shape, stop: threading.Event
) -> Generator[R, None, None]:
    """Yield results in the order in which they come, all that there are before an error is raised.

    `tasks` is read one ahead, in a thread of its own: it may be slow, and may wait for results that were handed on.

    However it ends (an error, Ctrl-C, a reader who has had enough) `stop` is set if anything still runs, and all
    threads are waited for, but for one in which `tasks` doesn't answer: nothing can end that wait.
    """
    belt: _Belt[T, P, R] = _Belt(shape)
    feeder = threading.Thread(target=_feeding, args=(belt, tasks), daemon=True)
    threads = [threading.Thread(target=_preparing, args=(belt, stages)) for _ in range(shape.preparers)]
    threads += [threading.Thread(target=_measuring, args=(belt, stages, lane)) for lane in range(shape.lanes)]
    try:
        for thread in (feeder, *threads):
            thread.start()
        yield from belt.results()
    except BaseException:
        stop.set()
        raise
    finally:
        belt.end()
        _wait_for([one for one in (threads if belt.is_fetching else [feeder, *threads]) if one.ident is not None])


def _wait_for(threads: Sequence[threading.Thread]) -> None:
    """Wait for the threads, and say so when that takes its time: nothing ends a call of torch's, or of a problem's
    code."""
    soon = time.monotonic() + _PATIENCE_S
    for thread in threads:
        thread.join(max(0.0, soon - time.monotonic()))
    if any(thread.is_alive() for thread in threads):
        _LOG.warning("harness: waiting for what is under way in this process; Ctrl-C (again) waits no longer")
    for thread in threads:
        thread.join()


def _feeding(belt: _Belt[T, P, R], tasks: Iterable[T]) -> None:
    try:
        source = iter(tasks)
        while belt.wants_task():
            try:
                task = next(source)
            except StopIteration:
                belt.end_of_tasks()
                return
            belt.give_task(task)
    except BaseException as error:  # the border of the thread: raised again where the results are read
        belt.fail(error)


def _preparing(belt: _Belt[T, P, R], stages: Stages[T, P, R]) -> None:
    try:
        stages.enter_preparer()
        while (taken := belt.next_task()) is not None:
            outcome = stages.prepare(taken[0])
            if isinstance(outcome, Finished):
                stages.keep(outcome.result)
            belt.prepared(outcome)
    except BaseException as error:  # as above
        belt.fail(error)


def _measuring(belt: _Belt[T, P, R], stages: Stages[T, P, R], lane: int) -> None:
    try:
        stages.enter_lane(lane)
        while (taken := belt.next_ready()) is not None:
            item, before = taken
            result = stages.measure(item, lane)
            if isinstance(result, Again):
                belt.give_back(result.task)
                stages.examine(lane)
                continue
            if belt.prepared_since(before):
                result = stages.overlapped(result)
            stages.keep(result)
            belt.measured(result)
            stages.examine(lane)
    except BaseException as error:  # as above
        belt.fail(error)


class _Belt(Generic[T, P, R]):
    """The state that the threads share, under one lock."""

    def __init__(self, shape: Shape) -> None:
        self._changed = threading.Condition()
        self._shape = shape
        self._has_more = True
        self._waiting: deque[T] = deque()
        self._ready: deque[P] = deque()
        self._results: deque[R] = deque()
        self._preparing = self._measuring = self._begun = 0
        self._is_measuring_phase = False
        self._error: BaseException | None = None
        self._has_ended = False
        self.is_fetching = False
        """True where the tasks were asked for the next one and haven't answered."""

    def wants_task(self) -> bool:
        """True once there is room for one more task, which must then be given; False when all ends."""
        with self._changed:
            self._changed.wait_for(lambda: self._has_ended or self._has_room())
            self.is_fetching = not self._has_ended
            self._moved()
            return self.is_fetching

    def give_task(self, task: T) -> None:
        with self._changed:
            self.is_fetching = False
            self._waiting.append(task)
            self._moved()

    def end_of_tasks(self) -> None:
        with self._changed:
            self.is_fetching = self._has_more = False
            self._moved()

    def next_task(self) -> tuple[T] | None:
        """The next task to prepare; None when there is none, or all ends."""
        with self._changed:
            self._changed.wait_for(lambda: self._has_ended or self._is_drained() or self._may_prepare())
            if self._has_ended or not self._waiting:
                return None
            task = self._waiting.popleft()
            self._preparing += 1
            self._begun += 1
            self._moved()
            return (task,)

    def prepared(self, outcome: P | Finished[R]) -> None:
        with self._changed:
            self._preparing -= 1
            if isinstance(outcome, Finished):
                self._results.append(outcome.result)
            else:
                self._ready.append(outcome)
            self._moved()

    def next_ready(self) -> tuple[P, int] | None:
        """The next item to measure, and a mark for prepared_since()."""
        with self._changed:
            self._changed.wait_for(lambda: self._has_ended or self._is_drained() or self._may_measure())
            if self._has_ended or not self._ready:
                return None
            self._measuring += 1
            item = self._ready.popleft()
            self._moved()
            return item, -1 if self._preparing else self._begun

    def prepared_since(self, mark: int) -> bool:
        with self._changed:
            return self._begun != mark

    def measured(self, result: R) -> None:
        with self._changed:
            self._measuring -= 1
            self._results.append(result)
            self._moved()

    def give_back(self, task: T) -> None:
        """Give back a task, which goes before others that haven't been measured yet."""
        with self._changed:
            self._measuring -= 1
            self._waiting.appendleft(task)
            self._moved()

    def results(self) -> Iterator[R]:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._results or self._error or self._is_drained())
                if not self._results:
                    if self._error:
                        raise self._error
                    return
                result = self._results.popleft()
                self._moved()
            yield result

    def fail(self, error: BaseException) -> None:
        with self._changed:
            self._error = self._error or error
            self._has_ended = True  # nothing more is begun
            self._moved()

    def end(self) -> None:
        with self._changed:
            self._has_ended = True
            self._moved()

    def _has_room(self) -> bool:
        """One task waits at most, and none while what was prepared isn't measured, or what was found isn't read:
        nothing grows without bound."""
        under_way = len(self._waiting) + self._preparing + len(self._ready)
        return not self._waiting and under_way < self._shape.ahead and len(self._results) < self._shape.ahead

    def _may_prepare(self) -> bool:
        return bool(self._waiting) and not (self._shape.alternates and (self._is_measuring_phase or self._measuring))

    def _may_measure(self) -> bool:
        return bool(self._ready) and (not self._shape.alternates or self._is_measuring_phase)

    def _is_out_of_tasks(self) -> bool:
        return not (self._has_more or self._waiting)

    def _is_drained(self) -> bool:
        return self._is_out_of_tasks() and not (self._preparing or self._ready or self._measuring)

    def _moved(self) -> None:
        """Let everybody look again. Where stages alternate, a phase ends when it can do no more just now."""
        if self._is_measuring_phase:
            self._is_measuring_phase = bool(self._ready or self._measuring)
        elif self._ready and not self._preparing and not (self._waiting or self._will_be_fed()):
            self._is_measuring_phase = True
        self._changed.notify_all()

    def _will_be_fed(self) -> bool:
        """Say whether the next task will be asked for at once; one that was asked for may be long in coming."""
        return self._has_more and not self.is_fetching and self._has_room()
