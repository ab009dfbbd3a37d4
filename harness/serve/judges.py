"""The judges: a thread for each config that jobs ask for, which takes jobs from the queue into one session."""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from harness.api.evaluator import Backend, Evaluator
from harness.errors import HarnessError
from harness.model.evaluation import Evaluation
from harness.model.verdict import Verdict
from harness.serve.queue import BegunJob, JobQueue
from harness.store.index import open_index
from harness.store.journal import Journal
from harness.store.line import from_line, to_line
from harness.workspace.selection import Task

_LOG = logging.getLogger("harness.serve")
_PERIOD_S = 0.5
_MOST_ATTEMPTS = 2
"""A fault of the machine's is tried once more; after that it is the job's verdict."""
_PAUSE_S = 10.0
"""The time until a session that failed is opened again."""


class Judges:
    """A context manager: leaving it ends what is under way, which is queued anew."""

    def __init__(
        self, queue: JobQueue, workspace: Path, results: Path, backend: Backend = "auto", config: str | None = None
    ) -> None:
        """`config` is that of jobs that name none. Raises: JournalError where `results` can't be written."""
        self._queue = queue
        self._workspace = workspace
        self._results = results
        self._backend: Backend = backend
        self._config = config
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._threads: dict[str, threading.Thread] = {}
        self._open: dict[str, Evaluator] = {}
        self._troubles: dict[str, str] = {}
        self._journal: Journal | None = None
        self._keep_what_is_finished()

    @property
    def troubles(self) -> dict[str, str]:
        """Why sessions can't be had just now, by config."""
        return dict(self._troubles)

    @property
    def is_alive(self) -> bool:
        return any(thread.is_alive() for thread in self._threads.values())

    def __enter__(self) -> Judges:
        watch = threading.Thread(target=self._watch, name="judges", daemon=True)
        self._threads["*"] = watch
        watch.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._threads.pop("*").join()
        with self._lock:
            for evaluator in self._open.values():
                evaluator.close()
        for thread in self._threads.values():
            thread.join()

    def _watch(self) -> None:
        """Start a judge for each config that has jobs."""
        while not self._stop.is_set():
            for config in self._queue.configs():
                if config not in self._threads:
                    thread = threading.Thread(target=self._judge, args=(config,), name=f"judge {config}", daemon=True)
                    self._threads[config] = thread
                    thread.start()
            self._stop.wait(_PERIOD_S)

    def _judge(self, config: str) -> None:
        while not self._stop.is_set():
            taken: dict[str, tuple[BegunJob, Task]] = {}
            try:
                self._queue.requeue(config)  # what a session that failed had under way
                with Evaluator(
                    backend=self._backend, config=config or self._config, workspace=self._workspace
                ) as evaluator:
                    with self._lock:
                        self._open[config] = evaluator
                    self._troubles.pop(config, None)
                    with contextlib.closing(evaluator.iter_tasks(self._tasks(evaluator, config, taken))) as found:
                        for evaluation in found:
                            one, task = taken.pop(evaluation.solution.name)
                            self._finish(one, evaluation)
                            evaluator.discard(task)
            except Exception as error:  # the border of the thread
                if not self._stop.is_set():
                    _LOG.exception("judging with config %r", config or "the server's")
                    self._troubles[config] = str(error) or type(error).__name__
            finally:
                with self._lock:
                    self._open.pop(config, None)
            self._stop.wait(_PAUSE_S)

    def _tasks(self, evaluator: Evaluator, config: str, taken: dict[str, tuple[BegunJob, Task]]) -> Iterator[Task]:
        """Jobs as tasks, whose solutions are called as the jobs are."""
        while not self._stop.is_set():
            one = self._queue.take(config)
            if one is None:
                self._queue.wait(_PERIOD_S)
                continue
            asked = one.asked
            try:
                task = evaluator.task(asked.problem, asked.solution, cases=asked.cases, name=one.id)
            except HarnessError as error:
                self._queue.fail(one.id, str(error))
                continue
            taken[one.id] = one, task
            yield task

    def _finish(self, job: BegunJob, evaluation: Evaluation) -> None:
        if evaluation.verdict is Verdict.HARNESS_ERROR and job.attempts < _MOST_ATTEMPTS:
            self._queue.give_back(job.id)
            return
        solution = replace(evaluation.solution, name=job.asked.name, author=job.owner)
        evaluation = replace(evaluation, solution=solution)
        self._queue.finish(job.id, evaluation.id, evaluation.verdict.value, to_line(evaluation))
        self._keep(job.id, evaluation)

    def _keep(self, job: str, evaluation: Evaluation) -> None:
        """Put a finished job's evaluation into the journal. The queue has it in any case, and a later start tries
        again."""
        self._journal = self._journal or Journal(self._results, evaluation.run)
        try:
            self._journal.append(evaluation)
        except (HarnessError, OSError) as error:
            self._troubles["the journal"] = str(error)
            return
        self._troubles.pop("the journal", None)
        self._queue.keep(job)

    def _keep_what_is_finished(self) -> None:
        """Put into the journal what a server that was killed had finished, but for what it had put there already."""
        Journal(self._results, "served").require_writable()
        if not (left := self._queue.unkept()):
            return
        with open_index(self._results) as index:
            known = {entry.id for entry in index.entries()}
        for job, record in left:
            evaluation = from_line(record.encode())
            if evaluation.id in known:
                self._queue.keep(job)
            else:
                self._keep(job, evaluation)
