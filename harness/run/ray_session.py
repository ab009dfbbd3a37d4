"""A run on a Ray cluster: its executors made ready, one journal, and one process that writes it."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, wait
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any  # Ray's handles have no types

from harness.builder.build import BuildOutcome
from harness.devices import Choice, read_environment
from harness.errors import HarnessError, MachineError
from harness.model.config import Config
from harness.model.environment import Environment
from harness.model.evaluation import Evaluation
from harness.referee.evaluation import evaluate
from harness.referee.job import Job, make_job
from harness.referee.setting import draw_master_seed
from harness.run.dispatch import dispatch
from harness.run.executor import Office, Ticket
from harness.run.local import Observer
from harness.run.node import ExecutorFacts, NodeSettings
from harness.run.ray_cluster import RayExecutor, RayNode, connected, machines, wishes, with_gpus
from harness.run.session import new_run
from harness.store.journal import Journal
from harness.workspace.selection import Task
from harness.workspace.source_hash import hashed_files, judged_files

_ENDING_S = 15.0
_ASKING_S = 120.0
_SHARE = 0.01
"""The share of a GPU that a look at it takes."""
_MOST_PROBLEMS = 256


@dataclass(frozen=True)
class RaySession(AbstractContextManager["RaySession"]):
    """One run on a cluster, to be used like session.Session. Leaving it ends the actors, and what they do."""

    run: str
    environment: Environment
    """The environment of the first lane; others may differ, and a record has its own."""
    journal: Journal
    config: Config
    seed: int
    executors: Sequence[RayExecutor]
    stop: threading.Event
    say: Callable[[str], None]
    closing: ExitStack

    def evaluate(self, tasks: Iterable[Task], observe: Observer) -> Generator[Evaluation, None, None]:
        """Yield evaluations as they come, each already kept in the journal."""
        office = _Keeper(self.journal, self.environment, observe, self.say)
        return dispatch(self._tickets(tasks), self.executors, office, self.stop)

    def _tickets(self, tasks: Iterable[Task]) -> Iterator[Ticket]:
        sha256, problem_files = "", dict[str, bytes]()
        for task in tasks:
            job = make_job(self.run, task, self.config, self.seed)
            if job.problem_ref.sha256 != sha256:  # most follow one of the same problem
                sha256, problem_files = job.problem_ref.sha256, _contents(hashed_files(task.problem.folder))
            yield Ticket(job, job.problem.sha256, _contents(judged_files(task.solution.folder)), problem_files)

    def __exit__(self, *_: object) -> None:
        self.stop.set()
        self.closing.close()


def open_ray_session(
    address: str,
    backend: Choice,
    workspace: Path,
    results: Path,
    config: Config,
    seed: int | None,
    say: Callable[[str], None],
    keeps_source: bool = True,
    gpu_model: str | None = None,
    jobs: int | None = None,
) -> RaySession:
    """Connect to the cluster at `address`, and wait for its first lane. `gpu_model` is Ray's word, such as H100. For
    the others see session.open_session().

    Raises: as that, and UsageError without Ray or a cluster.
    """
    run = new_run()
    journal = Journal(results, run, keeps_source)
    journal.require_writable()
    with ExitStack() as stack:
        ray = stack.enter_context(connected(address))
        found = machines(ray)
        chosen = _backend(backend, any(machine.gpus for machine in found))
        wanted = wishes(chosen, found, gpu_model, jobs or config.limits.parallel_builds)
        are_beside = chosen == "cuda" and all(machine.gpus for machine in found)
        settings = NodeSettings(chosen, config, read_environment("sim", workspace).commit, builds_beside=are_beside)
        cluster = _Cluster(ray, stack)
        lanes = [cluster.executor(settings, wish) for wish in wanted if wish.is_lane]
        say(f"waiting for the first lane of the cluster; lanes: {len(lanes)}, machines: {len(found)}")
        first = cluster.compilers_of = _first_opened(lanes)
        for_builders = replace(settings, environment=first.environment, gpu=first.gpu)
        builders = [cluster.executor(for_builders, wish) for wish in wanted if not wish.is_lane]
        assert first.environment is not None
        return RaySession(
            run=run,
            environment=first.environment,
            journal=journal,
            config=config,
            seed=draw_master_seed() if seed is None else seed,
            executors=[*lanes, *builders],
            stop=threading.Event(),
            say=say,
            closing=stack.pop_all(),
        )


def ray_environments(address: str, backend: Choice, workspace: Path, gpu_model: str | None) -> list[Environment]:
    """Return the environments of a session's records: those of all machines that may judge. Raises: as
    open_ray_session()."""
    with connected(address) as ray:
        found = machines(ray)
        chosen = _backend(backend, any(machine.gpus for machine in found))
        share = {"num_gpus": _SHARE} if chosen == "cuda" else {}
        read, asked = ray.remote(max_calls=1)(read_environment), []
        for machine in with_gpus(found, gpu_model) if chosen == "cuda" else found:
            there = ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(machine.id, soft=False)
            asked.append(read.options(num_cpus=0, scheduling_strategy=there, **share).remote(chosen, Path("/")))
        answered, late = ray.wait(asked, num_returns=len(asked), timeout=_ASKING_S)
        if late:
            raise MachineError(f"{len(late)} of the cluster's {len(asked)} machines didn't say what they are")
        commit = read_environment("sim", workspace).commit
        try:
            answers = [replace(one, commit=commit) for one in ray.get(answered)]
        except ray.exceptions.RayError as error:
            raise MachineError(f"a machine of the cluster doesn't say what it is: {error}") from error
        return list({one.fingerprint: one for one in answers}.values())


class _Cluster:
    """The part of a cluster that the executors of a session share."""

    def __init__(self, ray: Any, stack: ExitStack) -> None:
        self.compilers_of: ExecutorFacts | None = None
        self._ray = ray
        self._executors: list[RayExecutor] = []
        self._problems: dict[str, Any] = {}
        stack.callback(self._end)

    def executor(self, settings: NodeSettings, wish: Any) -> RayExecutor:
        executor = RayExecutor(self._ray, RayNode, settings, wish, self._shared, self._fits)
        self._executors.append(executor)
        return executor

    def _shared(self, ticket: Ticket) -> Any:
        """Put a problem's files where all can read them, once."""
        key = ticket.job.problem_ref.sha256
        if key not in self._problems:
            if len(self._problems) >= _MOST_PROBLEMS:
                del self._problems[next(iter(self._problems))]
            self._problems[key] = self._ray.put(ticket.problem_files)
        return self._problems[key]

    def _fits(self, described: ExecutorFacts) -> bool:
        return self.compilers_of is None or described.compilers == self.compilers_of.compilers

    def _end(self) -> None:
        """End all actors: what they do first, so that no worker outlives them."""
        with contextlib.suppress(self._ray.exceptions.RayError, ValueError):  # ValueError: of no executors
            ended = [executor.stop() for executor in self._executors]
            self._ray.wait(ended, num_returns=len(ended), timeout=_ENDING_S)
        for executor in self._executors:
            executor.end()


@dataclass(frozen=True)
class _Keeper(Office):
    """Implements executor.Office: the journal has one writer."""

    journal: Journal
    environment: Environment
    hear: Observer
    tell: Callable[[str], None]

    def keep(self, evaluations: Sequence[Evaluation]) -> None:
        self.journal.append_all(evaluations)

    def give_up(self, ticket: Ticket, why: str) -> Evaluation:
        job = replace(ticket.job, outages=(*ticket.job.outages, *ticket.lost))
        return evaluate(job, None, self.environment, BuildOutcome((), MachineError(why), 0.0))

    def observe(self, job: Job, what: str) -> None:
        self.hear(job, what)

    def say(self, what: str) -> None:
        self.tell(what)


def _backend(choice: Choice, has_gpus: bool) -> Any:
    return choice if choice != "auto" else "cuda" if has_gpus else "sim"


def _first_opened(lanes: Sequence[RayExecutor]) -> ExecutorFacts:
    """Wait for the first lane that opens. Raises: HarnessError where none does."""
    waiting = {lane.opened() for lane in lanes}
    while waiting:
        done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
        for one in done:
            error = one.exception()
            if error is None:
                return one.result()
    raise error if isinstance(error, HarnessError) else MachineError(f"no lane of the cluster opens: {error}")


def _contents(files: dict[str, Path]) -> dict[str, bytes]:
    return {name: path.read_bytes() for name, path in files.items()}
