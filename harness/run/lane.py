"""A lane: one device and the referee that judges on it, one solution at a time. Several at a time gain nothing: turns
must be alone on the device, and what comes between them hardly overlaps (76 public kernels on an H100 and 16 cores:
3.5 s each with one lane, 4.2 with three that gave each other way).

With one device the referee works in this process. With several each has a process of its own, which sees its GPU
alone: a referee's random generators, torch's switches and the CUDA context belong to a whole process, and two lanes in
one would draw each other's inputs.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

from harness.builder.build import BuildOutcome
from harness.builder.workers import Workers
from harness.errors import HarnessError, Interrupted, MachineError
from harness.model.config import Config, TimingConfig
from harness.model.environment import Environment
from harness.model.evaluation import Evaluation
from harness.referee.ceilings.ceilings import device_ceilings
from harness.referee.correctness import Notify
from harness.referee.evaluation import evaluate
from harness.referee.job import Job
from harness.referee.outage import Outage
from harness.run.gpu_lock import GpuLock
from harness.sandbox.process import TextsNotBuilt
from harness.sandbox.start import Surroundings
from harness.sandbox.variables import own_python

if TYPE_CHECKING:
    from harness.devices import SmClock

_POLL_S = 0.1
_ENDING_S = 30
"""The time limit for a process that has hung up to end its workers and itself."""
_MISSED_BYTES = 4 * 2**30
"""A number of bytes that is more than what the referee itself takes for good in an evaluation, such as cuDNN's kernels
and workspaces."""


@dataclass(frozen=True)
class Assignment:
    """One built solution to judge. `built` went well: what failed to build needs no device. `is_last`: no other is
    known to come."""

    job: Job
    built: BuildOutcome
    environment: Environment
    is_last: bool = True


class Stop(Protocol):
    """The end of what is under way, such as a threading.Event."""

    def is_set(self) -> bool: ...


class Lane(Protocol):
    """A lane, called by one thread."""

    def open(self, config: Config, environment: Environment) -> None:
        """Do what the first evaluation would wait for, while its solution is built."""

    def evaluate(self, assignment: Assignment, notify: Notify) -> Evaluation:
        """Evaluate an assignment. Raises: Interrupted, MachineError; TextsNotBuilt or Outage, when the device is free
        again."""

    def examine(self) -> None:
        """Examine the device after each evaluation, whose result is safe by then. Raises: MachineError where the device
        doesn't work any more."""

    def close(self) -> None:
        """End what the lane has started."""


@dataclass(frozen=True)
class LocalLane:
    """A device that this process sees first; `lock` is None where nobody else could disturb (the simulator)."""

    workers: Workers
    lock: GpuLock | None

    def open(self, config: Config, environment: Environment) -> None:
        """Measure what the GPU can do at best, if nobody has, and begin to use it; not where others hold it."""
        if self.lock is not None and not self.lock.is_held():
            with (
                contextlib.suppress(HarnessError, Interrupted, RuntimeError),  # evaluate() meets it again
                self._held(self.lock, config.timing, environment.driver, lambda what: None),
            ):
                # No worker is started: others who measure would find it on the GPU while this run still builds.
                self.workers.host.free_bytes()

    def evaluate(self, assignment: Assignment, notify: Notify) -> Evaluation:
        with self._device(assignment, notify):
            free, standing = self.workers.host.free_bytes(), self.workers.standing
            evaluation = evaluate(
                assignment.job, self.workers, self._here(assignment), assignment.built, notify, assignment.is_last
            )
            _empty_cache()
            if self.workers.standing != standing:  # who holds what isn't known then
                return evaluation
            remark = _memory_remark(free, self.workers.host.free_bytes())
            return replace(evaluation, remarks=(*evaluation.remarks, remark)) if remark else evaluation

    def examine(self) -> None:
        self.workers.host.require_alive()

    def close(self) -> None:
        """End the workers that wait for another solution; the fork servers are the session's."""
        self.workers.end_idle()

    def _here(self, assignment: Assignment) -> Environment:
        """Return the environment with the GPU that this lane has."""
        if self.lock is None:
            return assignment.environment
        from harness.devices import gpu_uuid

        return replace(assignment.environment, gpu_uuid=gpu_uuid())

    @contextmanager
    def _device(self, assignment: Assignment, notify: Notify) -> Iterator[None]:
        """Hold the device, with its clock locked where the config asks for that. Raises: MachineError, UsageError."""
        config = assignment.job.config.timing
        with ExitStack() as stack:
            if self.lock is not None:
                clock = stack.enter_context(self._held(self.lock, config, assignment.environment.driver, notify))
                if config.sm_mhz_asked is not None:
                    stack.enter_context(clock.locked(config.sm_mhz_asked))
            yield

    @contextmanager
    def _held(self, lock: GpuLock, config: TimingConfig, driver: str | None, notify: Notify) -> Iterator[SmClock]:
        """Hold the GPU. What a killed run left locked is reset, and before anything of a solution's is there, it shows
        what it can do at best. Raises: MachineError."""
        from harness.devices import SmClock

        with lock.held(self.workers.stop, notify):
            try:
                clock = SmClock(lock.key, self.workers.cache)
                clock.restore(notify)
                if config.enabled and driver is not None:
                    device_ceilings(self.workers.cache, driver)
                yield clock
                if lock.is_wanted():
                    self.workers.await_idle()  # what starts up would disturb whoever is next
            finally:
                _empty_cache()


@dataclass(frozen=True)
class LaneSettings:
    """The settings that a lane's process needs."""

    backend: Literal["cuda", "sim"]
    cache: Path
    memory_gib: float | None
    lock: GpuLock | None
    cpus: frozenset[int] | None
    surroundings: Surroundings = field(default_factory=Surroundings)
    sanitize: bool = False


class ProcessLane:
    """A lane in a process of its own, started at the first evaluation and anew after it has ended by itself."""

    def __init__(self, settings: LaneSettings, variables: dict[str, str], stop: Stop) -> None:
        self._settings = settings
        self._variables = variables
        self._stop = stop
        self._process: subprocess.Popen[bytes] | None = None
        self._owes_word = False
        """True where it has yet to say how its device is."""
        self._pipe: Connection | None = None

    def open(self, config: Config, environment: Environment) -> None:
        """Start the process, which imports torch and opens a lane of its own meanwhile."""
        if self._pipe is None:
            with contextlib.suppress(OSError):  # evaluate() meets it again
                self._start().send((config, environment))

    def evaluate(self, assignment: Assignment, notify: Notify) -> Evaluation:
        """Return what became of it, also where the lane's process itself ended for the second time: that is a
        harness_error in the record."""
        try:
            self._send(assignment)
            while isinstance(said := self._receive(), str):
                notify(said)
        except _LaneEnded as ended:
            failed = replace(assignment.built, failed=MachineError(str(ended)))
            return evaluate(assignment.job, None, assignment.environment, failed)
        self._owes_word = not isinstance(said, MachineError)
        if isinstance(said, Evaluation):
            return said
        raise said

    def examine(self) -> None:
        if not self._owes_word:
            return
        self._owes_word = False
        try:
            said = self._receive()
        except _LaneEnded as ended:
            raise MachineError(str(ended)) from None
        if isinstance(said, MachineError):
            raise said

    def close(self) -> None:
        """Hang up, which ends the process and its workers, and wait for it."""
        if self._pipe is not None:
            self._pipe.close()
            self._pipe = None
        if self._process is not None:
            self._end_of_process()
            self._process = None

    def _start(self) -> Connection:
        ours, theirs = Pipe()
        with theirs:
            self._process = subprocess.Popen(
                own_python("harness.run.lane_process", str(theirs.fileno())),
                stdin=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                start_new_session=True,  # Ctrl-C is for the process that has the terminal; it tells us
                env={**os.environ, **self._variables},
            )
        self._pipe = ours
        ours.send(self._settings)
        return ours

    def _send(self, assignment: Assignment) -> None:
        try:
            (self._pipe or self._start()).send(assignment)
        except OSError:
            raise self._ended() from None

    def _receive(self) -> str | Evaluation | TextsNotBuilt | Outage | MachineError:
        """Receive what the lane says next; words tell what it does, and in the end that its device works. Trusted code
        of ours is on both ends, so it may be pickled."""
        assert self._pipe is not None
        try:
            while not self._pipe.poll(_POLL_S):
                if self._stop.is_set():
                    raise Interrupted
            return self._pipe.recv()  # type: ignore[no-any-return]
        except (EOFError, OSError):
            raise self._ended() from None

    def _ended(self) -> _LaneEnded:
        """Make the error of a process that has hung up, or never came about."""
        code = self._end_of_process() if self._process else None
        self.close()
        return _LaneEnded(f"the process of a lane ended by itself (exit code {code})")

    def _end_of_process(self) -> int:
        """Return the process's exit code. It ends by itself once the pipe is closed, or is made to."""
        assert self._process is not None
        try:
            return self._process.wait(timeout=_ENDING_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            return self._process.wait()


class _LaneEnded(Exception):
    """The process of a lane is gone."""


def _memory_remark(before: int | None, after: int | None) -> str | None:
    if before is None or after is None or before - after < _MISSED_BYTES:
        return None
    return (
        f"{(before - after) / 2**30:.1f} GiB of the GPU's memory are still held after the workers' end: by another "
        "program, or by what is left of a solution (nvidia-smi names processes)"
    )


def _empty_cache() -> None:
    """The next holder of the GPU needs the memory that torch keeps for us."""
    import torch

    if torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
        with contextlib.suppress(RuntimeError):  # of a GPU that fails, as examine() will say
            torch.cuda.empty_cache()
