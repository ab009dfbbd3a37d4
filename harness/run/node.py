"""An executor of a cluster on its node: the referee of one device, or a builder, in a process that the cluster starts.

It is given jobs with their files, and unpacks them into a folder of its own. Solutions run in its sandboxed workers
alone, as they do on one machine. What it is sent comes from our own process, so it may be pickled.
"""

from __future__ import annotations

import contextlib
import os
import platform
import tempfile
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import torch

from harness.builder.extension_cache import keep_files
from harness.builder.parcel import Parcel, pack, unpack
from harness.builder.texts import compilers_of
from harness.builder.workers import Workers
from harness.devices import DistantGpu
from harness.errors import HarnessError, Interrupted, UsageError
from harness.model.config import Config
from harness.model.environment import Environment
from harness.referee.job import Job
from harness.referee.unchanged import remember_harness
from harness.run.cache import cache_folder
from harness.run.cores import Cores
from harness.run.executor import Answer, Ticket
from harness.run.local import Built, Evaluating, Lanes, said
from harness.run.session import open_session
from harness.sandbox.folder import make_folder, remove_folder
from harness.sandbox.start import surroundings_of
from harness.sandbox.wire.device import SeenGpu

Files = Mapping[str, bytes]
"""A folder's files by their path in it."""


@dataclass(frozen=True)
class NodeSettings:
    """The settings of an executor. `commit` is the workspace's. A builder has the lanes' `environment`, and their `gpu`
    where there is one. `builds_beside`: builders may be at work on a lane's machine."""

    backend: Literal["cuda", "sim"]
    config: Config
    commit: str | None
    environment: Environment | None = None
    gpu: SeenGpu | None = None
    builds_beside: bool = False


@dataclass(frozen=True)
class ExecutorFacts:
    """The facts of an executor that is open; `trouble` or `usage` say why it isn't. Who has the same `compilers` may
    have what others build."""

    name: str
    environment: Environment | None = None
    compilers: str = ""
    gpu: SeenGpu | None = None
    trouble: str | None = None
    usage: str | None = None


class Node:
    """One executor. Its methods are called by the cluster, `stop` while others run."""

    def __init__(self, settings: NodeSettings) -> None:
        self._settings = settings
        self._folder = make_folder()  # which the next run removes, should this process be killed
        self._steps: Evaluating | None = None

    def describe(self) -> ExecutorFacts:
        """Open the executor, and describe it."""
        os.environ.pop("OMP_NUM_THREADS", None)  # the cluster's choice; workers are to have torch's own, as elsewhere
        _take_usual_priority()
        remember_harness()
        try:
            lanes = self._open_lane() if self._settings.environment is None else self._open_builder()
            compilers = compilers_of(lanes.builders)
        except UsageError as error:
            return ExecutorFacts(self.name(), usage=str(error))
        except (HarnessError, Interrupted) as error:
            return ExecutorFacts(self.name(), trouble=_words(error))
        self._steps = Evaluating(lanes, "", self._settings.config, 0, lambda job, what: None, journal=None)
        return ExecutorFacts(self.name(), lanes.environment, compilers, lanes.builders.host.seen_gpu())

    def build(self, ticket: Ticket, problem_files: Files) -> tuple[Answer, Parcel]:
        """Build. What fails to is a verdict at once; else the parcel is for the lane."""
        assert self._steps is not None, "describe() comes first"
        try:
            with self._unpacked(ticket, problem_files) as job:
                self._steps.enter_preparer()
                answer = self._steps.build(replace(ticket, job=job))
                if not isinstance(answer.built, Built):
                    return answer, {}
                built = answer.built
                if built.opinions is not None:
                    built = replace(built, opinions=said(built.opinions))
                return Answer(built=built), pack(self._steps.lanes.builders, job.solution, built.outcome.builds)
        except (HarnessError, Interrupted) as error:
            return Answer(trouble=_words(error)), {}

    def judge(self, ticket: Ticket, problem_files: Files, parcel: Parcel) -> Answer:
        """Judge what was built; what wasn't is built here before."""
        assert self._steps is not None, "describe() comes first"
        try:
            with self._unpacked(ticket, problem_files) as job:
                _take_usual_priority()
                self._steps.enter_lane(0)
                ticket, answer = replace(ticket, job=job), Answer(built=ticket.built)
                if answer.built is None:
                    answer = self._steps.build(ticket, is_on_device=True)
                else:
                    unpack(self._steps.lanes.builders, parcel)
                if answer.built is not None:
                    answer = self._steps.judge(replace(ticket, built=answer.built), 0)
        except UsageError as error:
            return Answer(fatal=UsageError(str(error)))
        except (HarnessError, Interrupted) as error:
            return Answer(trouble=_words(error))
        if answer.evaluation is not None and self._settings.builds_beside:
            answer = replace(answer, evaluation=self._steps.overlapped(answer.evaluation))
        return replace(answer, fatal=None, trouble=_words(answer.fatal)) if answer.fatal else answer

    def stop(self) -> None:
        """End what is under way, and the workers."""
        if self._steps is not None:
            self._steps.lanes.builders.stop.set()
            self._steps.close()
            self._steps.lanes.builders.close()
        remove_folder(self._folder)

    def name(self) -> str:
        """Return what people call the executor."""
        return platform.node()

    def cores(self) -> Cores | None:
        """Return its share of a machine's cores; None where it has the machine for itself."""
        return None

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
            keep_files(problem, problem_files)
        with tempfile.TemporaryDirectory(dir=self._folder, ignore_cleanup_errors=True) as scratch:
            solution = Path(scratch, job.problem.name, job.solution.name)
            keep_files(solution, ticket.solution_files)
            yield replace(
                job,
                problem=replace(job.problem, folder=problem),
                solution=replace(job.solution, folder=solution),
            )


def _take_usual_priority() -> None:
    """Take this thread's background priority back, which Ray gives its processes (RAY_worker_niceness): what else the
    machine does would disturb times. It needs root."""
    with contextlib.suppress(PermissionError):
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), 0)


def _words(error: BaseException) -> str:
    return str(error) or "it was told to stop"
