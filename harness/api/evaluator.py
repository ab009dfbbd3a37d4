"""Evaluations one after another in one warm session: what a training loop holds on to."""

from __future__ import annotations

import contextlib
import dataclasses
import logging
import operator
import secrets
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Literal

from harness.api.loading import Scratch
from harness.errors import HarnessError, UsageError
from harness.model.config import Config
from harness.model.evaluation import Evaluation
from harness.run.engine import AnySession, Engine, EngineName, open_session
from harness.store.journal import Journal
from harness.workspace.problem import Problem
from harness.workspace.selection import Task
from harness.workspace.solution import Solution
from harness.workspace.workspace import Workspace, find_workspace, select_cases

Backend = Literal["auto", "cuda", "sim"]
AnyProblem = Problem | Path | str
AnySolution = Solution | Path | str

_LOG = logging.getLogger("harness")


class Evaluator(AbstractContextManager["Evaluator"]):
    """A session kept open: the backend is made ready once, solutions are built side by side. A context manager.

    backend: 'cuda', 'sim' (the CPU simulator: correctness only), or 'auto' for the GPU where there is one.
    config: a Config, or the name or the file of one; None for the defaults.
    seed: the master seed of all inputs; None draws a new one for each call, so that no solution meets known inputs.
    results: folder of a journal that keeps every evaluation; None keeps nothing.
    workspace: where names are looked up; None for the workspace around the working folder, if there is one.
    engine: 'local', this machine; or 'ray', the cluster at `ray_address`, of whose GPUs those of the model `ray_gpu`
    are taken, such as 'H100'.

    What has imported torch once stays for the next call, and touches no GPU. Use one from one thread at a time.

    Raises: MachineError where the backend can't run here, UsageError or InvalidFile for a config that there isn't or
    that breaks its rules.
    """

    def __init__(
        self,
        *,
        backend: Backend = "auto",
        config: Config | Path | str | None = None,
        seed: int | None = None,
        results: Path | None = None,
        workspace: Path | None = None,
        engine: EngineName = "local",
        ray_address: str = "auto",
        ray_gpu: str | None = None,
    ) -> None:
        self._backend: Backend = backend
        self._engine = Engine(engine, ray_address, ray_gpu)
        self._config = load_config(config, workspace)
        try:
            self._seed = None if seed is None else operator.index(seed)
        except TypeError:
            raise UsageError(f"a seed is an int or None; not {seed!r}") from None
        self._results = None if results is None else Path(results)
        self._workspace = workspace
        self._session: AnySession | None = self._open()
        self._scratch: Scratch | None = Scratch(workspace)

    def evaluate(
        self, problem: AnyProblem, solution: AnySolution, *, cases: Sequence[str] = (), name: str | None = None
    ) -> Evaluation:
        """Judge one solution, and time it where there is a GPU; see harness.evaluate() for the arguments.

        Raises: UsageError, InvalidFile, JournalError; never on the solution's account.
        """
        scratch = self._sources()
        chosen = scratch.problem(problem)
        one = scratch.solution(solution, chosen, name)
        (evaluation,) = self.evaluate_many(chosen, [one], cases=cases)
        return evaluation

    def evaluate_many(
        self, problem: AnyProblem, solutions: Iterable[AnySolution], *, cases: Sequence[str] = ()
    ) -> Iterator[Evaluation]:
        """Evaluations in the order of `solutions`, which may be endless: it is read only some way ahead.

        Equal sources that are under way at the same time are evaluated once. Ending the iteration early ends what is
        under way. Raises: as evaluate().
        """
        if isinstance(solutions, (str, Path, Solution)):
            raise UsageError("evaluate_many() takes several solutions, such as a list; evaluate() takes one")
        chosen = self._sources().problem(problem)
        stream = _SolutionStream(self._sources(), chosen, tuple(select_cases(chosen, cases)))
        session = self._ready_session()
        with contextlib.closing(session.evaluate(stream.tasks(solutions), lambda job, what: None)) as found:
            for evaluation in found:
                yield from stream.in_order(evaluation)
        stream.expect_end()

    def task(self, problem: AnyProblem, solution: AnySolution, *, cases: Sequence[str] = (), name: str) -> Task:
        """Make a task for iter_tasks(). Raises: UsageError, InvalidFile."""
        chosen = self._sources().problem(problem)
        one = self._sources().solution(solution, chosen, name)
        return Task(chosen, one, tuple(select_cases(chosen, cases)))

    def discard(self, task: Task) -> None:
        """Remove the files of a task that came of a text."""
        if self._scratch is not None:
            self._scratch.discard(task.solution)

    def iter_tasks(
        self, tasks: Iterable[Task], observe: Callable[[str, str], None] = lambda name, what: None
    ) -> Generator[Evaluation, None, None]:
        """Evaluations as they come, whichever is ready first. `tasks` may be endless, and may wait for what comes.
        `observe` hears a solution's name and what is done with it."""
        found = self._ready_session().evaluate(tasks, lambda job, what: observe(job.solution.name, what))
        with contextlib.closing(found):
            yield from found

    def close(self) -> None:
        """End the workers and remove the sources' folders."""
        if self._session is not None:
            self._session.__exit__(None, None, None)
            self._session = None
        if self._scratch is not None:
            self._scratch.close()
            self._scratch = None

    def __exit__(self, *_: object) -> None:
        self.close()

    def _sources(self) -> Scratch:
        if self._scratch is None:
            raise UsageError("this Evaluator is closed; open another")
        return self._scratch

    def _ready_session(self) -> AnySession:
        """Return the session with a seed for this call; a new one where an iteration that ended early stopped it."""
        if self._session is not None and self._session.stop.is_set():
            self._session.__exit__(None, None, None)  # another may want the cluster's GPUs that it holds
            self._session = None
        if self._session is None:
            self._session = self._open()
        seed = secrets.randbits(63) if self._seed is None else self._seed
        return dataclasses.replace(self._session, seed=seed)

    def _open(self) -> AnySession:
        root = (self._workspace or Path.cwd()).absolute()
        results = self._results or root
        session = open_session(self._engine, self._backend, root, results, self._config, self._seed, _LOG.info)
        return session if self._results else dataclasses.replace(session, journal=_Unkept(root, session.run))


def load_config(config: Config | Path | str | None, workspace: Path | None = None) -> Config:
    """A config as it is, by the name it has in configs/ of the workspace, or by its file. Raises: UsageError."""
    if config is None or isinstance(config, Config):
        return config or Config()
    if not isinstance(config, (str, Path)):
        raise UsageError(f"a config is a Config, a name or a Path; not {type(config).__name__}")
    if Path(config).is_file():
        return Workspace(Path.cwd()).config(str(config))
    return find_workspace(workspace).config(str(config))


class _Unkept(Journal):
    """Takes evaluations and keeps none."""

    def append_all(self, evaluations: Sequence[Evaluation]) -> list[Path]:
        return [self.folder] * len(evaluations)


class _SolutionStream:
    """Solutions on their way through a session, and the order in which their evaluations are due.

    The session takes tasks in a thread of its own, hence the lock.
    """

    def __init__(self, scratch: Scratch, problem: Problem, cases: tuple[str, ...]) -> None:
        self._scratch = scratch
        self._problem = problem
        self._cases = cases
        self._lock = threading.Lock()
        self._due: deque[tuple[str, str]] = deque()
        self._solutions: dict[tuple[str, str], list[Solution]] = {}
        self._found: dict[tuple[str, str], Evaluation] = {}

    def tasks(self, solutions: Iterable[AnySolution]) -> Iterator[Task]:
        """A task for each solution that isn't under way already."""
        for given in solutions:
            solution = self._scratch.solution(given, self._problem)
            key = (solution.name, solution.sha256)
            with self._lock:
                self._due.append(key)
                is_new = key not in self._solutions
                self._solutions.setdefault(key, []).append(solution)
            if is_new:
                yield Task(self._problem, solution, self._cases)

    def in_order(self, evaluation: Evaluation) -> Iterator[Evaluation]:
        """Yield what can be handed on now that this evaluation is there."""
        with self._lock:
            self._found[evaluation.solution.name, evaluation.solution.sha256] = evaluation
        while (ready := self._next()) is not None:
            yield ready

    def expect_end(self) -> None:
        """Raises: HarnessError where a solution was left over: its files are others than when it was taken."""
        if self._due:
            raise HarnessError(f"solution '{self._due[0][0]}' was changed by somebody while it was evaluated")

    def _next(self) -> Evaluation | None:
        with self._lock:
            if not self._due or self._due[0] not in self._found:
                return None
            key = self._due.popleft()
            evaluation, waiting = self._found[key], self._solutions[key]
            solution = waiting.pop()
            if not waiting:
                del self._found[key], self._solutions[key]
        self._scratch.discard(solution)
        return evaluation
