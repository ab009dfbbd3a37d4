"""What a run needs before its first evaluation: a backend made ready, the machine's facts, a journal."""

from __future__ import annotations

import datetime
import os
import secrets
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from harness.backends.choice import open_host
from harness.executors.local import Observer, run_jobs
from harness.records.config import Config
from harness.records.environment import Environment
from harness.records.evaluation import Evaluation
from harness.records.journal import Journal
from harness.referee.environment import read_environment
from harness.referee.evaluation import make_job
from harness.referee.seeds import draw_master_seed
from harness.referee.worker_process import Workers
from harness.workspace.selection import Task


@dataclass(frozen=True)
class Session:
    """One run of the harness on one machine."""

    run: str
    workers: Workers
    environment: Environment
    journal: Journal
    config: Config
    seed: int

    def evaluate(self, tasks: Sequence[Task], observe: Observer) -> Iterator[Evaluation]:
        """Evaluations as they come, each already kept in the journal."""
        jobs = [make_job(self.run, task, self.config, self.seed) for task in tasks]
        return run_jobs(jobs, self.workers, self.environment, self.journal, observe)


def open_session(
    backend: Literal["auto", "cuda", "sim"],
    workspace: Path,
    results: Path,
    config: Config,
    seed: int | None,
    say: Callable[[str], None],
) -> Session:
    """Make the backend ready; `say` is told what takes long. Raises: MachineError."""
    cache = cache_folder()
    host = open_host(backend, cache, say)
    run = f"{datetime.datetime.now(datetime.timezone.utc):%Y%m%dT%H%M%SZ}-{secrets.token_hex(2)}"
    return Session(
        run=run,
        workers=Workers(host, cache, config.limits.worker_memory_gib),
        environment=read_environment(host.name, workspace),
        journal=Journal(results, run),
        config=config,
        seed=draw_master_seed() if seed is None else seed,
    )


def cache_folder() -> Path:
    """$HARNESS_CACHE, else harness/ in the user's cache folder."""
    if chosen := os.environ.get("HARNESS_CACHE"):
        return Path(chosen).absolute()
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache").absolute() / "harness"
