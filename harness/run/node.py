"""A place of a cluster on its node: the referee of one device, or a builder, in a process that the cluster starts.

It is given jobs with their files, and unpacks them into a folder of its own. Solutions run in its sandboxed workers
alone, as they do on one machine. What it is sent comes from our own process, so it may be pickled.
"""

from __future__ import annotations

import contextlib
import os
import platform
import shutil
import tempfile
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import torch

from harness.builder.build import BuildOutcome
from harness.builder.nvcc_check import Opinions
from harness.builder.parcel import Parcel, pack, unpack
from harness.builder.texts import compilers_of
from harness.builder.workers import Workers
from harness.devices import DistantGpu
from harness.errors import HarnessError, Interrupted, UsageError
from harness.model.config import Config
from harness.model.environment import Environment
from harness.model.evaluation import Evaluation
from harness.referee.job import Job
from harness.referee.unchanged import remember_harness
from harness.run.cache import cache_folder
from harness.run.cores import Cores
from harness.run.local import Evaluating, Item, Lanes, Returned
from harness.run.pipeline import Finished
from harness.run.place import Answer, Ticket
from harness.run.session import open_session
from harness.sandbox.folder import make_folder, remove_folder
from harness.sandbox.start import surroundings_of
from harness.sandbox.wire.device import SeenGpu
from harness.store.journal import Journal

Files = Mapping[str, bytes]
"""A folder's files by their path in it."""


@dataclass(frozen=True)
class NodeSettings:
    """The settings of a place. `commit` is the workspace's. A builder has the lanes' `environment`, and their `gpu`
    where there is one. `builds_beside`: builders may be at work on a lane's machine."""

    backend: Literal["cuda", "sim"]
    config: Config
    commit: str | None
    environment: Environment | None = None
    gpu: SeenGpu | None = None
    builds_beside: bool = False


@dataclass(frozen=True)
class PlaceFacts:
    """The facts of a place that is open; `trouble` or `usage` say why it isn't. Who has the same `compilers` may have
    what others build."""

    name: str
    environment: Environment | None = None
    compilers: str = ""
    gpu: SeenGpu | None = None
    trouble: str | None = None
    usage: str | None = None


@dataclass(frozen=True)
class Built:
    """A build, and what nvcc says of it where it is for the simulator."""

    outcome: BuildOutcome
    opinions: Opinions | None


class Node:
    """One place. Its methods are called by the cluster, `stop` while others run."""

    def __init__(self, settings: NodeSettings) -> None:
        self._settings = settings
        self._folder = make_folder()  # which the next run removes, should this process be killed
        self._opened: _Opened | None = None

    def describe(self) -> PlaceFacts:
        """Open the place, and describe it."""
        os.environ.pop("OMP_NUM_THREADS", None)  # the cluster's choice; workers are to have torch's own, as elsewhere
        _take_usual_priority()
        remember_harness()
        config, unused = self._settings.config, Journal(self._folder, "unused")
        try:
            lanes = self._open_lane() if self._settings.environment is None else self._open_builder()
            compilers = compilers_of(lanes.builders)
        except UsageError as error:
            return PlaceFacts(self.name(), usage=str(error))
        except (HarnessError, Interrupted) as error:
            return PlaceFacts(self.name(), trouble=_words(error))
        self._opened = _Opened(lanes.builders, Evaluating(lanes, "", config, 0, lambda job, what: None, unused))
        return PlaceFacts(self.name(), lanes.environment, compilers, lanes.builders.host.seen_gpu())

    def build(self, ticket: Ticket, problem_files: Files) -> tuple[Answer, Parcel]:
        """Build. What fails to is a verdict at once; else the parcel is for the lane."""
        here = self._place()
        try:
            with self._unpacked(ticket, problem_files) as job:
                here.stages.enter_preparer()
                item = here.stages.prepare(Returned(job, ticket.wanted, ticket.returns))
                if isinstance(item, Finished):
                    return Answer(evaluation=item.result), {}
                opinions = item.asked.result() if item.asked else None
                return Answer(built=Built(item.built, opinions)), pack(here.workers, job.solution, item.built.builds)
        except (HarnessError, Interrupted) as error:
            return Answer(trouble=_words(error)), {}

    def judge(self, ticket: Ticket, problem_files: Files, parcel: Parcel) -> Answer:
        """Judge what was built; what wasn't is built here before."""
        here = self._place()
        try:
            with self._unpacked(ticket, problem_files) as job:
                _take_usual_priority()
                here.stages.enter_lane(0)
                if isinstance(ticket.built, Built):
                    unpack(here.workers, parcel)
                    item = Item(job, ticket.built.outcome, _known(ticket.built.opinions), ticket.returns)
                    found = here.stages.measure(item, 0)
                else:
                    found = here.built_and_measured(Returned(job, ticket.wanted, ticket.returns))
        except UsageError as error:
            return Answer(usage=str(error))
        except (HarnessError, Interrupted) as error:
            return Answer(trouble=_words(error))
        if isinstance(found, Evaluation):
            found = here.stages.overlapped(found) if self._settings.builds_beside else found
            return Answer(evaluation=found, trouble=here.trouble())
        assert isinstance(found.task, Returned)
        return Answer(wanted=found.task.wanted, outages=found.task.job.outages, trouble=here.trouble())

    def stop(self) -> None:
        """End what is under way, and the workers."""
        if self._opened is not None:
            self._opened.workers.stop.set()
            self._opened.stages.close()
            self._opened.workers.close()
        remove_folder(self._folder)

    def name(self) -> str:
        """Return what people call the place."""
        return platform.node()

    def cores(self) -> Cores | None:
        """Return its share of a machine's cores; None where it has the machine for itself."""
        return None

    def _place(self) -> _Opened:
        assert self._opened is not None, "describe() comes first"
        return self._opened

    def _open_lane(self) -> Lanes:
        settings, results = self._settings, self._folder / "results"
        session = open_session(settings.backend, self._folder, results, settings.config, 0, lambda what: None, lanes=1)
        cores = self.cores() or session.lanes.cores
        mine = cores.lanes[0] if cores and cores.lanes else None
        torch.set_num_threads(len(mine) if mine else max(1, (os.cpu_count() or 2) // 2))
        environment = replace(session.environment, commit=settings.commit)
        return replace(session.lanes, cores=cores, environment=environment)

    def _open_builder(self) -> Lanes:
        environment, limits = self._settings.environment, self._settings.config.limits
        assert environment is not None
        if self._settings.gpu is None:  # the simulator's
            return replace(self._open_lane(), environment=environment)
        around = surroundings_of(self._folder, self._folder / "results", limits.pass_environment, limits.confinement)
        host = DistantGpu(self._settings.gpu)
        workers = Workers(host, cache_folder(), limits.worker_memory_gib, surroundings=around)
        return Lanes({}, workers, self.cores(), environment)

    @contextlib.contextmanager
    def _unpacked(self, ticket: Ticket, problem_files: Files) -> Iterator[Job]:
        """Give the job with its folders on this machine. The problem's stays, for its next solution."""
        job = ticket.job
        problem = self._folder / "problems" / job.problem_ref.sha256[:16] / job.problem.name
        if not problem.exists():
            _write(problem, problem_files)
        with tempfile.TemporaryDirectory(dir=self._folder, ignore_cleanup_errors=True) as scratch:
            solution = Path(scratch, job.problem.name, job.solution.name)
            _write(solution, ticket.solution_files)
            yield replace(
                job,
                problem=replace(job.problem, folder=problem),
                solution=replace(job.solution, folder=solution),
            )


@dataclass(frozen=True)
class _Opened:
    """A place that is open."""

    workers: Workers
    stages: Evaluating

    def built_and_measured(self, task: Returned) -> Evaluation:
        """Build and measure in turn, until it comes to nothing that isn't built."""
        while True:
            item = self.stages.prepare(task)
            if isinstance(item, Finished):
                return item.result
            found = self.stages.measure(item, 0)
            if isinstance(found, Evaluation):
                return found
            assert isinstance(found.task, Returned)
            task = found.task

    def trouble(self) -> str | None:
        """Say what is wrong with the device after a job."""
        try:
            self.stages.examine(0)
        except HarnessError as error:
            return str(error)
        return None


def _known(opinions: Opinions | None) -> Future[Opinions] | None:
    if opinions is None:
        return None
    known: Future[Opinions] = Future()
    known.set_result(opinions)
    return known


def _take_usual_priority() -> None:
    """Take this thread's background priority back, which Ray gives its processes (RAY_worker_niceness): what else the
    machine does would disturb times. It needs root."""
    with contextlib.suppress(PermissionError):
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), 0)


def _words(error: BaseException) -> str:
    return str(error) or "it was told to stop"


def _write(folder: Path, files: Files) -> None:
    """Write a folder whole; another thread may be first."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    part = Path(tempfile.mkdtemp(dir=folder.parent))
    for name, content in files.items():
        (part / name).parent.mkdir(parents=True, exist_ok=True)
        (part / name).write_bytes(content)
    try:
        part.rename(folder)
    except OSError:
        shutil.rmtree(part)
