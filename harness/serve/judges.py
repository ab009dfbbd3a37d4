"""The judge: one thread that takes jobs from the queue and judges them in sessions, one config after another."""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from harness.api.evaluator import Backend, Evaluator
from harness.errors import HarnessError, Interrupted, MachineError
from harness.model.config import ConfinementLevel
from harness.model.evaluation import Evaluation
from harness.model.verdict import Verdict
from harness.serve.queue import BegunJob, JobQueue
from harness.store.index import open_index
from harness.store.journal import Journal
from harness.store.line import from_line, to_line
from harness.workspace.selection import Task
from harness.workspace.workspace import Workspace

_LOG = logging.getLogger("harness.serve")
_PERIOD_S = 0.2
_MOST_ATTEMPTS = 2
"""A fault of the machine's is tried once more; after that it is the job's verdict."""
_PAUSE_S = 10.0
"""The time until a session that failed is opened again."""
_STAYS_S = 30.0
"""The time for which jobs of one config go before others: another session takes seconds to open."""
_PRUNING_S = 3600.0
_STALLED_S = 900.0
"""Health is bad where a job has been under way for so long."""


@dataclass
class _Burst:
    """Jobs that go through a session together, until another config's turn comes."""

    evaluator: Evaluator
    config: str
    under_way: dict[str, tuple[BegunJob, Task]] = field(default_factory=dict)
    suspect: BegunJob | None = None
    """A job that was under way when a session failed: it goes alone, so that it alone is to blame the next time."""
    has_ended: threading.Event = field(default_factory=threading.Event)
    is_fed: threading.Event = field(default_factory=threading.Event)
    """Set when no more jobs are taken for it."""
    began_at: float = field(default_factory=time.monotonic)


class Judge:
    """A context manager: entering it makes the backend ready, leaving it ends what is under way."""

    def __init__(
        self,
        queue: JobQueue,
        workspace: Path,
        results: Path,
        backend: Backend = "auto",
        config: str | None = None,
        keep_days: float = 30.0,
        least: ConfinementLevel | None = None,
    ) -> None:
        """`config` is that of jobs that name none. Jobs that have ended leave the queue after `keep_days`. `least`: the
        confinement that all configs want at least. Raises: JournalError where `results` can't be written."""
        self._queue = queue
        self._workspace = workspace
        self._results = results
        self._backend: Backend = backend
        self._own_config = config
        self._least = least
        self._keep_s = keep_days * 24 * 3600
        self._prune_at = 0.0
        self.doing: dict[str, str] = {}
        """The step that each job under way is at."""
        self._stop = threading.Event()
        self._woken = threading.Event()
        self._thread = threading.Thread(target=self._run, name="judge", daemon=True)
        self._evaluator: Evaluator | None = None
        self._config = ""
        self._trouble: str | None = None
        self._unkept: str | None = None
        self._journal: Journal | None = None
        Journal(results, "served").require_writable()
        self._keep_what_is_finished(may_be_there=True)

    @property
    def troubles(self) -> list[str]:
        """Why jobs aren't judged or kept just now."""
        found = [one for one in (self._trouble, self._unkept) if one]
        if not self._thread.is_alive():
            found.append("the judge has ended")
        if (begun := self._queue.oldest_begun()) and time.time() - begun[1] > _STALLED_S:
            found.append(f"{begun[0]} has been under way for {time.time() - begun[1]:.0f} s")
        return found

    def __enter__(self) -> Judge:
        """Raises: MachineError, UsageError, InvalidFile where the server's own config can't be judged here."""
        self._evaluator = self._opened("")
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._woken.set()
        if evaluator := self._evaluator:
            evaluator.close()  # which ends what is under way
        self._thread.join()

    def _run(self) -> None:
        with self._queue.bell.waking(self._woken.set):
            self._run_until_stopped()

    def _run_until_stopped(self) -> None:
        while not self._stop.is_set():
            try:
                self._woken.clear()  # before anything is asked: what comes then isn't missed
                if self._stop.is_set():
                    return
                self._prune()
                if (config := self._queue.next_config()) is None:
                    self._woken.wait(_PRUNING_S)
                    continue
                self._judge(_Burst(self._session(config), config))
                self._trouble = None
            except BaseException as error:  # the border of the thread; a problem's code may raise anything
                if self._stop.is_set():
                    return
                self._trouble = str(error) or type(error).__name__
                _LOG.error("judging failed: %s", self._trouble, exc_info=not isinstance(error, HarnessError))
                self._close()
                self._stop.wait(_PAUSE_S)

    def _session(self, config: str) -> Evaluator:
        if self._evaluator is None or config != self._config:
            self._close()
            self._evaluator = self._opened(config)
        return self._evaluator

    def _opened(self, config: str) -> Evaluator:
        self._config = config
        settings = Workspace(self._workspace).config(config or self._own_config)
        settings = settings.but("limits", confinement=self._least)
        return Evaluator(backend=self._backend, config=settings, workspace=self._workspace)

    def _close(self) -> None:
        evaluator, self._evaluator = self._evaluator, None
        if evaluator:
            with contextlib.suppress(Exception):
                evaluator.close()

    def _judge(self, burst: _Burst) -> None:
        """Raises: whatever ends a session; its jobs are queued anew then, but for one that ended two."""
        try:
            with contextlib.closing(burst.evaluator.iter_tasks(self._tasks(burst), self._observe)) as found:
                for evaluation in found:
                    self.doing.pop(evaluation.solution.name, None)
                    job, task = burst.under_way.pop(evaluation.solution.name)
                    self._finish(job, evaluation)
                    burst.evaluator.discard(task)
                    self._prune()
        except BaseException as error:
            if burst.suspect and not self._stop.is_set() and not isinstance(error, Interrupted):
                text = str(error) or type(error).__name__
                self._queue.fail(burst.suspect, f"the session ended twice while it was under way: {text}")
            raise
        finally:
            burst.has_ended.set()
            burst.is_fed.wait(5 * _PERIOD_S)
            self._queue.requeue()
            self.doing.clear()

    def _tasks(self, burst: _Burst) -> Iterator[Task]:
        """Jobs as tasks, whose solutions are called as the jobs are. It ends when nothing is under way and nothing of
        this config is next."""
        try:
            while not (self._stop.is_set() or burst.has_ended.is_set()):
                is_alone = burst.suspect is not None and burst.suspect.id in burst.under_way
                stays = time.monotonic() - burst.began_at < _STAYS_S
                company = bool(burst.under_way)
                job = None if is_alone else self._queue.take(burst.config, burst.has_ended, company, stays)
                if job is None:
                    if not burst.under_way:
                        return
                    burst.has_ended.wait(_PERIOD_S)
                    continue
                burst.suspect = job if job.attempts > 1 else None
                if task := self._task(burst, job):
                    burst.under_way[job.id] = job, task
                    yield task
        finally:
            burst.is_fed.set()

    def _observe(self, job: str, what: str) -> None:
        self.doing[job] = what

    def _prune(self) -> None:
        if time.monotonic() >= self._prune_at:
            self._prune_at = time.monotonic() + _PRUNING_S
            with contextlib.suppress(MachineError):  # the queue's file is full, perhaps: later, then
                self._queue.prune(time.time() - self._keep_s)

    def _task(self, burst: _Burst, job: BegunJob) -> Task | None:
        asked = job.asked
        try:
            return burst.evaluator.task(asked.problem, asked.solution, cases=asked.cases, name=job.id)
        except Exception as error:  # whatever its text makes of our parsers
            if burst.has_ended.is_set():
                self._queue.give_back(job)
            else:
                shown = str(error).replace(f"{self._workspace}/", "")
                self._queue.fail(job, shown or type(error).__name__)
            return None

    def _finish(self, job: BegunJob, evaluation: Evaluation) -> None:
        if evaluation.verdict is Verdict.HARNESS_ERROR and job.attempts < _MOST_ATTEMPTS:
            self._queue.give_back(job)
            return
        solution = replace(evaluation.solution, name=job.asked.name, author=job.owner)
        evaluation = replace(evaluation, solution=solution)
        self._queue.finish(job, evaluation.id, evaluation.verdict.value, to_line(evaluation))
        self._keep_what_is_finished()

    def _keep_what_is_finished(self, may_be_there: bool = False) -> None:
        """Put finished evaluations into the journal. The queue has them in any case, and what fails is tried again with
        the next; `may_be_there`: a server that was killed had put them there, perhaps."""
        left = self._queue.unkept()
        known: set[str] = set()
        if may_be_there and left:
            with open_index(self._results) as index:
                known = {entry.id for entry in index.entries()}
        try:
            for job, record in left:
                evaluation = from_line(record)
                if evaluation.id not in known:
                    self._journal = self._journal or Journal(self._results, evaluation.run)
                    self._journal.append(evaluation)
                self._queue.keep(job)
            self._unkept = None
        except (HarnessError, OSError) as error:
            self._unkept = f"the journal: {error}"
