"""Jobs to executors: builders that compile, lanes that judge; those of a cluster may die at any time.

One thread hands out and takes in, so that a job costs the same with one executor or with thousands. A verdict that
arrives is final. A job whose executor dies goes to another one, and its record says so. Nothing here knows a cluster's
software, or what is built and judged; tests give it executors of their own.
"""

from __future__ import annotations

import contextlib
import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from harness.errors import Interrupted, MachineError, UsageError
from harness.model.evaluation import Evaluation
from harness.model.verdict import Verdict
from harness.run.executor import Answer, Executor, Office, Ticket, UnfitExecutor

MOST_ATTEMPTS = 3
"""The most attempts at a job, all but the last of them ended by their machine, or with a harness_error."""
_MOST_FAILURES = 3
"""The most failures of an executor in a row, opening included, before it is given up."""
_AHEAD = 16
_MOST_ALIKE = 32
"""The most tickets of one problem that a lane takes in a row while others wait."""
_POLL_S = 0.2
_BUILDERS_PATIENCE_S = 60.0
"""The time for which lanes wait for the first builder, or for one in the place of the last."""
_PATIENCE_S = 600.0
"""The time for which a run waits without any lane: a cluster may have to start a machine."""


@dataclass(frozen=True)
class Bounds:
    """The bounds of a run. `ahead`: tickets whose evaluations nobody has read, at most; None: by the executors' slots.
    `waiting`: those of them that aren't begun. `alternates`: never build and judge at the same time, but as many as may
    be `ahead` in turn. `attempts`: at a job that its machine ended. `patience_s`: without a lane; None: none is lost.
    """

    ahead: int | None = None
    waiting: int | None = None
    alternates: bool = False
    attempts: int = MOST_ATTEMPTS
    patience_s: float | None = _PATIENCE_S


def dispatch(
    tickets: Iterable[Ticket],
    executors: Sequence[Executor],
    office: Office,
    stop: threading.Event,
    bounds: Bounds = Bounds(),
) -> Generator[Evaluation, None, None]:
    """Yield evaluations in the order in which they come, all that there are before an error is raised.

    `tickets` is read some way ahead, in a thread of its own: it may be slow, and may wait for results that were handed
    on. However it ends early, `stop` is set; what was found by then is kept. The executors stay open.

    Raises: MachineError where no lane is left; what `tickets` or `office` raise; Interrupted once `stop` is set.
    """
    run = _Dispatch(executors, office, stop, bounds)
    feeder = threading.Thread(target=run.feed, args=(tickets,), daemon=True)
    threads = [threading.Thread(target=run.serve), threading.Thread(target=run.keep)]
    try:
        for thread in (feeder, *threads):
            thread.start()
        yield from run.results()
    except BaseException:
        stop.set()
        raise
    finally:
        run.leave()
        for thread in threads:
            if thread.ident is not None:  # no Ctrl-C came before it was started
                thread.join()


@dataclass(frozen=True)
class _End:
    """The end of what is found, and the error that brought it about."""

    error: BaseException | None = None


@dataclass
class _Tracked:
    """An executor as the dispatcher sees it. `life` counts how often it was lost: what else fails of an earlier life is
    known already."""

    executor: Executor
    free: int = 0
    is_queued: bool = False
    is_open: bool = False
    failures: int = 0
    life: int = 0
    problem: str = ""
    """The problem of the ticket that it judged last, and how many of it there were in a row."""
    alike: int = 0


class _Dispatch:
    """The state of a run; what begins with `_` is done by the thread that serves."""

    def __init__(self, executors: Sequence[Executor], office: Office, stop: threading.Event, bounds: Bounds) -> None:
        self._all = [_Tracked(executor) for executor in executors]
        self._office = office
        self._stop = stop
        self._bounds = bounds
        self._ahead = bounds.ahead or max(_AHEAD, 2 * sum(executor.slots for executor in executors))
        self._asks = threading.Semaphore(0)
        self._events: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._found: queue.SimpleQueue[Evaluation | _End] = queue.SimpleQueue()
        self._results: queue.SimpleQueue[Sequence[Evaluation] | _End] = queue.SimpleQueue()
        self._waiting: deque[Ticket] = deque()
        self._ready: deque[Ticket] = deque()
        self._idle: dict[bool, deque[_Tracked]] = {True: deque(), False: deque()}
        self._left = {is_lane: sum(one.is_lane is is_lane for one in executors) for is_lane in (True, False)}
        """Lanes, and builders, that aren't given up."""
        self._open = {True: 0, False: 0}
        self._seen_at = dict.fromkeys((True, False), time.monotonic())
        """The time when a lane, or a builder, was last open."""
        self._busy = {True: 0, False: 0}
        """Tickets on lanes, and on builders."""
        self._taken = 0
        """Tickets whose evaluations nobody has read."""
        self._is_asked = self._is_fed = self._has_left = self._is_judging_phase = False
        self._trouble = "there are none"

    def feed(self, tickets: Iterable[Ticket]) -> None:
        """Take a ticket whenever one is asked for, in a thread of its own."""
        try:
            source = iter(tickets)
            while self._asks.acquire() and not self._has_left:
                self._events.put(partial(self._take, next(source)))
        except StopIteration:
            self._events.put(self._end_of_tickets)
        except BaseException as error:  # the border of the thread: raised again where the results are read
            self._events.put(partial(_raise, error))

    def results(self) -> Generator[Evaluation, None, None]:
        """Yield what is found, in the reader's thread."""
        while not isinstance(found := self._results.get(), _End):
            for evaluation in found:
                yield evaluation
                self._events.put(self._was_read)
        if found.error is not None:
            raise found.error

    def leave(self) -> None:
        """Begin nothing more."""
        self._has_left = True
        self._asks.release()
        self._events.put(lambda: None)

    def serve(self) -> None:
        """Hand out and take in until all is done, in a thread of its own."""
        try:
            for tracked in self._all:
                self._await(tracked)
            self._ask()
            while not (self._has_left or self._is_done()):
                self._take_in()
                self._hand_out()
                self._ask()
                self._require_lanes()
            self._found.put(_End())
        except BaseException as error:  # as above
            self._found.put(_End(error))

    def keep(self) -> None:
        """Keep what is found, all that there is in one go, in a thread of its own: lanes don't wait for a disk."""
        try:
            end: _End | None = None
            while end is None:
                batch: list[Evaluation] = []
                for found in (self._found.get(), *(self._found.get() for _ in range(self._found.qsize()))):
                    if isinstance(found, _End):
                        end = found
                    else:
                        batch.append(found)
                if batch:
                    self._office.keep(batch)
                    self._results.put(batch)
            self._results.put(end)
        except BaseException as error:  # as above
            self._results.put(_End(error))

    def _is_done(self) -> bool:
        return self._is_fed and not (self._waiting or self._ready or any(self._busy.values()))

    def _ask(self) -> None:
        """Ask for the next ticket, where there is room for it."""
        may_wait = self._ahead if self._bounds.waiting is None else self._bounds.waiting
        has_room = self._taken < self._ahead and len(self._waiting) < may_wait
        if has_room and not (self._is_asked or self._is_fed):
            self._is_asked = True
            self._asks.release()

    def _take(self, ticket: Ticket) -> None:
        self._is_asked = False
        self._taken += 1
        self._waiting.append(ticket)

    def _was_read(self) -> None:
        self._taken -= 1

    def _end_of_tickets(self) -> None:
        self._is_fed = True

    def _take_in(self) -> None:
        """Hear all that has happened by now."""
        for are_lanes, count in self._open.items():
            if count:
                self._seen_at[are_lanes] = time.monotonic()
        with contextlib.suppress(queue.Empty):
            # Where nothing is lost, this thread stays asleep: what is timed in the process is alone.
            self._events.get(timeout=None if self._bounds.patience_s is None else _POLL_S)()
            for _ in range(self._events.qsize()):
                self._events.get()()
        if self._stop.is_set():
            raise Interrupted

    def _hand_out(self) -> None:
        if self._bounds.alternates:
            self._change_phase()
        may_build = not (self._bounds.alternates and (self._is_judging_phase or self._busy[True]))
        may_judge = not self._bounds.alternates or self._is_judging_phase
        while may_build and self._waiting and (builder := self._next(is_lane=False)):
            self._begin(builder, self._waiting.popleft())
        passed_over = []
        while may_judge and (self._waiting or self._ready) and (lane := self._next(is_lane=True)):
            if self._waiting and (lane.executor.builds or not self._left[False] or self._lacks_builders()):
                self._begin(lane, self._waiting.popleft())
            elif self._ready:
                ticket = self._next_for(lane)
                self._begin(lane, replace(ticket, built=None) if lane.executor.builds else ticket)
            else:  # builders are at it
                passed_over.append(lane)
        for lane in passed_over:
            self._queue(lane)

    def _next_for(self, lane: _Tracked) -> Ticket:
        """Take the ticket that has waited for longest, of those of the lane's last problem if there are any."""
        alike = (number for number, one in enumerate(self._ready) if one.problem == lane.problem)
        number = next(alike, 0) if lane.alike < _MOST_ALIKE else 0
        ticket = self._ready[number]
        del self._ready[number]
        return ticket

    def _change_phase(self) -> None:
        """A phase ends when it can do no more just now: a ticket that was asked for may be long in coming."""
        if self._is_judging_phase:
            self._is_judging_phase = bool(self._ready or self._busy[True])
        else:
            self._is_judging_phase = bool(self._ready) and not (self._waiting or self._busy[False])

    def _next(self, is_lane: bool) -> _Tracked | None:
        """Take the executor that has been idle for longest."""
        while self._idle[is_lane]:
            tracked = self._idle[is_lane].popleft()
            tracked.is_queued = False
            if tracked.free:
                return tracked
        return None

    def _queue(self, tracked: _Tracked) -> None:
        if tracked.free and not tracked.is_queued:
            tracked.is_queued = True
            self._idle[tracked.executor.is_lane].append(tracked)

    def _begin(self, tracked: _Tracked, ticket: Ticket) -> None:
        tracked.free -= 1
        tracked.alike = tracked.alike + 1 if ticket.problem == tracked.problem else 0
        tracked.problem = ticket.problem
        self._queue(tracked)
        self._busy[tracked.executor.is_lane] += 1
        executor, life = tracked.executor, tracked.life
        self._office.observe(ticket.job, f"{'judging' if executor.is_lane else 'building'} on {executor.name}")
        executor.begin(ticket).add_done_callback(
            lambda done: self._events.put(partial(self._ended, tracked, life, ticket, done))
        )

    def _ended(self, tracked: _Tracked, life: int, ticket: Ticket, done: Future[Answer]) -> None:
        """Hear the one answer to a ticket that was begun: a verdict, or the ticket goes on."""
        self._busy[tracked.executor.is_lane] -= 1
        error = done.exception()
        answer = Answer(trouble=_words(error)) if error else done.result()
        if answer.evaluation is not None and not self._may_try_again(answer.evaluation, ticket):
            self._found.put(_with_attempts(answer.evaluation, ticket))
        elif answer.fatal is not None:
            raise answer.fatal
        elif answer.evaluation is not None or (answer.trouble is not None and not answer.outages):
            self._try_again(ticket, f"{tracked.executor.name}: {answer.trouble or _reason(answer.evaluation)}")
        elif answer.built is not None:
            self._office.observe(ticket.job, "built")
            self._ready.append(replace(ticket, built=answer.built, simulated=answer.simulated))
        else:
            job = replace(ticket.job, outages=answer.outages or ticket.job.outages, tries=ticket.job.tries + 1)
            returns = ticket.returns + bool(answer.wanted)
            again = replace(ticket, job=job, wanted=answer.wanted, returns=returns, built=None)
            self._waiting.appendleft(again)
        if answer.fatal is not None:
            raise answer.fatal
        if answer.trouble is not None and not answer.spares_executor:
            self._fail(tracked, life, answer.trouble)
        elif life == tracked.life:
            tracked.failures = 0
            tracked.free += 1
            self._queue(tracked)

    def _try_again(self, ticket: Ticket, why: str) -> None:
        """Have another executor try it, from its build on, which the builders' cache has; or give it up."""
        job = replace(ticket.job, tries=ticket.job.tries + 1)
        ticket = replace(ticket, job=job, lost=(*ticket.lost, why), built=None)
        if len(ticket.lost) < self._bounds.attempts:
            self._waiting.appendleft(ticket)
        else:
            count = self._bounds.attempts
            self._found.put(self._office.give_up(ticket, f"{count} attempts ended with their machine: {why}"))

    def _may_try_again(self, evaluation: Evaluation, ticket: Ticket) -> bool:
        """Say whether the record tells of no solution's fault and no problem's, and another machine may do better."""
        return len(ticket.lost) + 1 < self._bounds.attempts and evaluation.verdict is Verdict.HARNESS_ERROR

    def _fail(self, tracked: _Tracked, life: int, why: str, is_unfit: bool = False) -> None:
        """Ask for another executor like the one that is lost, unless it fails again and again."""
        if life != tracked.life:
            return
        self._open[tracked.executor.is_lane] -= tracked.is_open
        self._trouble = f"{tracked.executor.name}: {why}"
        tracked.life += 1
        tracked.failures += 1
        tracked.free, tracked.is_open = 0, False
        if is_unfit or tracked.failures > _MOST_FAILURES:
            self._left[tracked.executor.is_lane] -= 1
            self._office.say(f"given up: {self._trouble}")
            tracked.executor.end()
            return
        self._office.say(f"lost: {self._trouble}")
        tracked.executor.reopen()
        self._await(tracked)

    def _await(self, tracked: _Tracked) -> None:
        opened, life = tracked.executor.opened(), tracked.life
        opened.add_done_callback(lambda done: self._events.put(partial(self._opened, tracked, life, done)))

    def _opened(self, tracked: _Tracked, life: int, done: Future[Any]) -> None:
        error = done.exception()
        if isinstance(error, UsageError):
            raise error
        if error is not None:
            self._fail(tracked, life, _words(error), isinstance(error, UnfitExecutor))
            return
        self._open[tracked.executor.is_lane] += 1
        tracked.free, tracked.is_open = tracked.executor.slots, True
        self._queue(tracked)

    def _require_lanes(self) -> None:
        """Raises: MachineError where nothing can be judged, and nobody can be expected to come."""
        patience_s = self._bounds.patience_s
        if self._open[True] or patience_s is None:
            return
        if not self._left[True]:
            raise MachineError(f"the cluster has no lane left; {self._trouble}")
        if self._has_none_for(patience_s, are_lanes=True):
            raise MachineError(f"the cluster had no lane for {patience_s:.0f} s; {self._trouble}")

    def _lacks_builders(self) -> bool:
        """Say whether no builder opens, so that lanes had better build: the cluster may have no room for one."""
        patience_s = self._bounds.patience_s
        return patience_s is not None and self._has_none_for(min(_BUILDERS_PATIENCE_S, patience_s), are_lanes=False)

    def _has_none_for(self, seconds: float, are_lanes: bool) -> bool:
        return not self._open[are_lanes] and time.monotonic() - self._seen_at[are_lanes] > seconds


def _reason(evaluation: Evaluation | None) -> str:
    return evaluation.failure.reason if evaluation and evaluation.failure else ""


def _with_attempts(evaluation: Evaluation, ticket: Ticket) -> Evaluation:
    if not ticket.lost:
        return evaluation
    remark = f"attempt {len(ticket.lost) + 1}: the machine ended the one before ({ticket.lost[-1]})"
    return replace(evaluation, remarks=(*evaluation.remarks, remark))


def _words(error: BaseException) -> str:
    return next(iter(str(error).splitlines()), "") or type(error).__name__


def _raise(error: BaseException) -> None:
    raise error
