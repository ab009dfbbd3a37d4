"""Two stages with a bounded queue between them: many things are prepared at once, few are measured.

Knows nothing of what is prepared or measured; tests give it functions of their own.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")  # a task
P = TypeVar("P")  # a task prepared
R = TypeVar("R")  # its result


@dataclass(frozen=True)
class Ready(Generic[P]):
    """A task that can be measured."""

    item: P


@dataclass(frozen=True)
class Finished(Generic[R]):
    """A task that needn't be measured: its result is known."""

    result: R


@dataclass(frozen=True)
class Shape:
    """How wide the pipeline is: threads that prepare, lanes that measure, and how many tasks may wait between them.

    `alternates`: never prepare and measure at the same time; up to `ahead` tasks are prepared, then measured.
    """

    preparers: int
    lanes: int
    ahead: int
    alternates: bool = False


@dataclass(frozen=True)
class Stages(Generic[T, P, R]):
    """What is done with a task. Each thread calls its `enter_…` first, once.

    `measure` is told the lane; `overlapped` gets each result during which something was being prepared. What `prepare`
    or `measure` raise ends the run.
    """

    prepare: Callable[[T], Ready[P] | Finished[R]]
    measure: Callable[[P, int], R]
    overlapped: Callable[[R], R] = lambda result: result
    enter_preparer: Callable[[], None] = lambda: None
    enter_lane: Callable[[int], None] = lambda lane: None


def run_pipeline(
    tasks: Iterable[T], stages: Stages[T, P, R], shape: Shape, stop: threading.Event
) -> Generator[R, None, None]:
    """Results in the order in which they come.

    However it ends (an error, Ctrl-C, a reader who has had enough) `stop` is set if anything still runs, and all
    threads are waited for.
    """
    belt: _Belt[T, P, R] = _Belt(tasks, shape)
    threads = [threading.Thread(target=_preparing, args=(belt, stages)) for _ in range(shape.preparers)]
    threads += [threading.Thread(target=_measuring, args=(belt, stages, lane)) for lane in range(shape.lanes)]
    try:
        for thread in threads:
            thread.start()
        yield from belt.results()
    except BaseException:
        stop.set()
        raise
    finally:
        belt.end()
        for thread in threads:
            if thread.ident is not None:
                thread.join()


def _preparing(belt: _Belt[T, P, R], stages: Stages[T, P, R]) -> None:
    try:
        stages.enter_preparer()
        while (taken := belt.next_task()) is not None:
            belt.prepared(stages.prepare(taken[0]))
    except BaseException as error:  # the border of the thread: raised again where the results are read
        belt.fail(error)


def _measuring(belt: _Belt[T, P, R], stages: Stages[T, P, R], lane: int) -> None:
    try:
        stages.enter_lane(lane)
        while (taken := belt.next_ready()) is not None:
            item, before = taken
            result = stages.measure(item, lane)
            belt.measured(stages.overlapped(result) if belt.prepared_since(before) else result)
    except BaseException as error:  # as above
        belt.fail(error)


class _Belt(Generic[T, P, R]):
    """What the threads share, under one lock."""

    def __init__(self, tasks: Iterable[T], shape: Shape) -> None:
        self._changed = threading.Condition()
        self._shape = shape
        self._tasks = iter(tasks)
        self._has_more = True
        self._ready: deque[P] = deque()
        self._results: deque[R] = deque()
        self._preparing = self._measuring = self._begun = 0
        self._is_measuring_phase = False
        self._error: BaseException | None = None
        self._has_ended = False

    def next_task(self) -> tuple[T] | None:
        """The next task to prepare, once there is room for it; None when there is none, or all ends."""
        with self._changed:
            self._changed.wait_for(lambda: self._has_ended or not self._has_more or self._may_prepare())
            if self._has_ended or not self._has_more:
                return None
            try:
                task = next(self._tasks)
            except StopIteration:
                self._has_more = False
                self._moved()
                return None
            self._preparing += 1
            self._begun += 1
            return (task,)

    def prepared(self, outcome: Ready[P] | Finished[R]) -> None:
        with self._changed:
            self._preparing -= 1
            if isinstance(outcome, Ready):
                self._ready.append(outcome.item)
            else:
                self._results.append(outcome.result)
            self._moved()

    def next_ready(self) -> tuple[P, int] | None:
        """The next item to measure, with a mark for prepared_since()."""
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

    def results(self) -> Iterator[R]:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._results or self._error or self._is_drained())
                if self._error:
                    raise self._error
                if not self._results:
                    return
                result = self._results.popleft()
                self._moved()
            yield result

    def fail(self, error: BaseException) -> None:
        with self._changed:
            self._error = self._error or error
            self._moved()

    def end(self) -> None:
        with self._changed:
            self._has_ended = True
            self._moved()

    def _may_prepare(self) -> bool:
        """Not when what was prepared isn't measured, or what was found isn't read: nothing grows without bound."""
        has_room = len(self._ready) + self._preparing < self._shape.ahead and len(self._results) < self._shape.ahead
        return has_room and not (self._shape.alternates and (self._is_measuring_phase or self._measuring))

    def _may_measure(self) -> bool:
        return bool(self._ready) and (not self._shape.alternates or self._is_measuring_phase)

    def _is_drained(self) -> bool:
        return not (self._has_more or self._preparing or self._ready or self._measuring)

    def _moved(self) -> None:
        """Let everybody look again. Where stages alternate, a phase ends when it can do no more."""
        if self._is_measuring_phase:
            self._is_measuring_phase = bool(self._ready or self._measuring)
        elif not self._preparing and (not self._has_more or len(self._ready) >= self._shape.ahead):
            self._is_measuring_phase = True
        self._changed.notify_all()
