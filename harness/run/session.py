"""The needs of a run before its first evaluation: lanes made ready, the machine's facts, a journal."""

from __future__ import annotations

import datetime
import os
import secrets
import sys
import threading
from collections.abc import Callable, Generator, Iterable, Sized
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path

from harness.builder.workers import Workers
from harness.devices import Choice, choose_backend, open_host, read_environment
from harness.model.config import Config
from harness.model.environment import Environment
from harness.model.evaluation import Evaluation
from harness.referee.setting import draw_master_seed
from harness.run.cache import cache_folder
from harness.run.cascade import Cascade
from harness.run.cores import Cores, core_groups, cpu_quota, divide_cores
from harness.run.gpu_lock import GpuLock, locks_folder
from harness.run.lane import LaneSettings, LocalLane, ProcessLane
from harness.run.local import Evaluating, Lanes, Observer, run_tasks
from harness.sandbox.fork_server import ForkServers
from harness.sandbox.start import surroundings_of
from harness.store.journal import Journal
from harness.workspace.selection import Task


@dataclass(frozen=True)
class Session(AbstractContextManager["Session"]):
    """One run of the harness on one machine. A context manager: leaving it ends whatever still runs."""

    run: str
    environment: Environment
    journal: Journal
    config: Config
    seed: int
    lanes: Lanes
    cascade: Cascade | None = None
    jobs: int | None = None
    """The number of builds at once; None: by the cores."""

    def evaluate(self, tasks: Iterable[Task], observe: Observer) -> Generator[Evaluation, None, None]:
        """Yield evaluations as they come, each already kept in the journal. Of `tasks` no more are taken than there is
        work for.

        Closing the generator ends the evaluations under way.
        """
        count = len(tasks) if isinstance(tasks, Sized) else sys.maxsize
        evaluating = Evaluating(self.lanes, self.run, self.config, self.seed, observe, self.journal, self.cascade)
        return run_tasks(tasks, evaluating, self.lanes.shape(count, self.jobs))

    @property
    def stop(self) -> threading.Event:
        """The event that ends what is under way."""
        return self.lanes.builders.stop

    def __exit__(self, *_: object) -> None:
        self.stop.set()
        if self.cascade is not None:
            self.cascade.close()
        self.lanes.builders.close()


def open_session(
    backend: Choice,
    workspace: Path,
    results: Path,
    config: Config,
    seed: int | None,
    say: Callable[[str], None],
    lanes: int | None = None,
    servers: ForkServers | None = None,
    keeps_source: bool = True,
    jobs: int | None = None,
) -> Session:
    """Make the backend ready; `say` is told what takes long. `lanes`: so many at most, by default one for every GPU,
    and one in all for the simulator. `servers`: what start_early() has started; the session ends them. `keeps_source`:
    whether the journal gets the solutions' texts. `jobs`: builds at once, by default as many as the config says.

    Raises: MachineError, also where workers are confined less than is wanted; UsageError for a clock that the GPU
    doesn't have; JournalError where `results` can't be written.
    """
    run = new_run()
    journal = Journal(results, run, keeps_source)
    journal.require_writable()
    cache = cache_folder()
    host = open_host(backend, cache, say, config.correctness.sanitize)
    environment = read_environment(host.name, workspace)
    if host.name == "cuda" and config.timing.sm_mhz_asked is not None:
        _require_clock(config.timing.sm_mhz_asked, cache)
    workers = Workers(
        host,
        cache,
        config.limits.worker_memory_gib,
        servers=servers or ForkServers(),
        surroundings=surroundings_of(workspace, results, config.limits.pass_environment, config.limits.confinement),
    )
    if config.limits.confinement != "none":
        _require_confinement(workers)
    if host.name == "cuda":
        of_backend = _gpu_lanes(workers, environment, lanes)
    else:
        of_backend = _sim_lanes(workers, environment, lanes, config.correctness.sanitize)
    return Session(
        run=run,
        environment=environment,
        journal=journal,
        config=config,
        seed=draw_master_seed() if seed is None else seed,
        lanes=of_backend,
        cascade=_cascade(workers, of_backend.cores, say) if config.correctness.cascade == "auto" else None,
        jobs=jobs or config.limits.parallel_builds,
    )


def new_run() -> str:
    """Make the name of a run."""
    return f"{datetime.datetime.now(datetime.timezone.utc):%Y%m%dT%H%M%SZ}-{secrets.token_hex(2)}"


def _require_confinement(workers: Workers) -> None:
    """Raises: MachineError where workers are confined less here than the config wants."""
    try:
        with workers.start(for_build=True) as worker:
            worker.await_start()
    except BaseException:
        workers.close()
        raise


def _require_clock(mhz: int, cache: Path) -> None:
    """Require the clock before anything is built; all GPUs of a run are of one model. Whether it may be locked shows
    when it is."""
    from harness.devices import SmClock, equal_gpus

    SmClock(equal_gpus()[0].uuid, cache).require_supported(mhz)


def _gpu_lanes(workers: Workers, environment: Environment, wanted: int | None) -> Lanes:
    """A lane for every GPU, with cores of its own; in this process where it is the one that torch sees first. GPUs on
    which other runs measure come last: few tasks go to the first lanes."""
    from harness.devices import equal_gpus

    locks = {gpu: GpuLock(gpu.uuid, f"GPU {gpu.index}", locks_folder()) for gpu in equal_gpus()}
    gpus = sorted(locks, key=lambda gpu: locks[gpu].is_held())[:wanted]
    cores = divide_cores(len(gpus), core_groups(), cpu_quota())
    if len(gpus) == 1 and gpus[0].index == 0:
        return Lanes({locks[gpus[0]].name: LocalLane(workers, locks[gpus[0]])}, workers, cores, environment)
    lanes = {
        locks[gpu].name: ProcessLane(_settings(workers, locks[gpu], cpus), gpu.variables, workers.stop)
        for gpu, cpus in zip(gpus, cores.lanes or [None] * len(gpus), strict=True)
    }
    return Lanes(lanes, workers, cores, environment)


def _sim_lanes(workers: Workers, environment: Environment, wanted: int | None, sanitize: bool) -> Lanes:
    """One lane unless more are asked for: a simulated launch may take much of the memory. Nothing is timed, so cores
    are shared."""
    if wanted is None or wanted == 1:
        return Lanes({"the simulator": LocalLane(workers, None)}, workers, None, environment)
    settings = replace(_settings(workers, None, None), sanitize=sanitize)
    threads = {"OMP_NUM_THREADS": str(max(1, (os.cpu_count() or 2) // (2 * wanted)))}
    lanes = {f"lane {number}": ProcessLane(settings, threads, workers.stop) for number in range(wanted)}
    return Lanes(lanes, workers, None, environment)


def _cascade(workers: Workers, cores: Cores | None, say: Callable[[str], None]) -> Cascade | None:
    """Make the simulator that judges before a GPU; None where compilers have no cores for themselves, or on the
    simulator: its work would only delay the measurements then."""
    if cores is None or cores.builds is None:
        return None
    return Cascade(workers, len(cores.builds), say)


def _settings(workers: Workers, lock: GpuLock | None, cpus: frozenset[int] | None) -> LaneSettings:
    return LaneSettings(
        workers.host.name, workers.cache, workers.memory_gib, lock, cpus, surroundings=workers.surroundings
    )


def environment_of(backend: Choice, workspace: Path) -> Environment:
    """The environment that a session would record, without making the backend ready. Raises: MachineError."""
    return read_environment(choose_backend(backend), workspace)
