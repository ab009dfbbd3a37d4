"""A session that answers from a script, in place of one with workers."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from harness.model.config import Config
from harness.model.environment import Environment
from harness.model.evaluation import Evaluation
from harness.model.timing import Timing
from harness.model.verdict import Verdict
from harness.referee.job import make_job
from harness.store.journal import Journal
from harness.workspace.selection import Task
from tests.examples import environment, failed, passed
from tests.gate.builders import timing

RUN = "20261121T031035Z-ef9a"
Ending = int | Timing | Verdict | None
"""The time in ns of a quiet measurement, a timing, another verdict; None: no result comes."""


class Opened(NamedTuple):
    """What the session was opened with."""

    backend: str
    results: Path
    config: Config
    seed: int | None


class ScriptedSession:
    """Evaluates as `ending_of` says of each solution's name, and notes what it was asked."""

    def __init__(self, ending_of: Callable[[str], Ending], where: Environment | None = None) -> None:
        self.opened: list[Opened] = []
        self.rounds: list[list[str]] = []
        self.jobs: int | None = None
        self.was_closed = False
        self.environment = where or environment()
        self._ending_of = ending_of
        self._count = 0

    def open(self, *given: Any, keeps_source: bool = True, jobs: int | None = None, **more: object) -> ScriptedSession:
        """In place of harness.run.session.open_session."""
        backend, _, results, config, seed, *_ = given
        self.opened.append(Opened(backend, results, config, seed))
        self.jobs = jobs
        self._journal = Journal(results, RUN, keeps_source)
        return self

    def __enter__(self) -> ScriptedSession:
        return self

    def __exit__(self, *_: object) -> None: ...

    def evaluate(self, tasks: Sequence[Task], observe: object) -> Generator[Evaluation, None, None]:
        self.rounds.append([task.solution.name for task in tasks])
        try:
            for task in tasks:
                ending = self._ending_of(task.solution.name)
                if ending is not None:
                    evaluation = self._evaluation(task, ending)
                    self._journal.append(evaluation)
                    yield evaluation
        finally:
            self.was_closed = True

    def _evaluation(self, task: Task, ending: int | Timing | Verdict) -> Evaluation:
        job = make_job(RUN, task, self.opened[-1].config, 1)
        measured = timing(ending) if isinstance(ending, int) else ending if isinstance(ending, Timing) else None
        facts = {
            "id": f"{task.problem.name}-{task.solution.name}-{self._count}",
            "started_at": f"2026-11-21T03:{self._count:02}:00.000+00:00",
            "problem": job.problem_ref,
            "solution": job.solution_ref,
            "cases": job.cases,
            "config": job.config,
            "environment": self.environment,
            "timing": measured if self.environment.backend == "cuda" else None,
        }
        self._count += 1
        if isinstance(ending, Verdict) and not ending.passed:
            return failed(verdict=ending, checks=(), **facts)
        return passed(**facts)
