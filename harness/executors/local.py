"""Evaluations on this machine: builds side by side, one solution at a time on the device, each result kept at once."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed, wait

from harness.records.environment import Environment
from harness.records.evaluation import Evaluation
from harness.records.journal import Journal
from harness.referee.build import BuildOutcome, build
from harness.referee.evaluation import Job, evaluate
from harness.referee.reference import Reference
from harness.referee.worker_process import Interrupted, Workers

Observer = Callable[[Job, str], None]
"""Told what happens to a job, in a few words."""


def run_jobs(
    jobs: Sequence[Job], workers: Workers, environment: Environment, journal: Journal, observe: Observer
) -> Iterator[Evaluation]:
    """Evaluate the jobs as builds come in, on a GPU once all are done; each is in the journal before it is yielded.

    Ending the iteration early (Ctrl-C) ends the workers; what was yielded is safe.
    """
    pool = ThreadPoolExecutor(max_workers=_parallel_builds(jobs))
    try:
        builds = {pool.submit(_build, job, workers, observe): job for job in jobs}
        if workers.host.name == "cuda":
            wait(builds)  # compilers on every core would disturb what is timed
        for future in as_completed(builds):
            job = builds[future]
            evaluation = evaluate(
                job,
                workers,
                environment,
                future.result(),
                lambda what, job=job: observe(job, what),  # type: ignore[misc]
            )
            journal.append(evaluation)
            yield evaluation
    except BaseException:  # Ctrl-C, a full disk, or the reader has had enough
        workers.stop.set()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def _build(job: Job, workers: Workers, observe: Observer) -> BuildOutcome:
    """Raises: Interrupted. Everything else becomes part of the outcome, and so of the record."""
    observe(job, "building")
    try:
        init_inputs = Reference(job.problem, job.cases[0], "cpu").init_inputs
        outcome = build(workers, job.solution, init_inputs, job.config.limits)
    except Interrupted:
        raise
    except Exception as error:  # the border of the thread
        return BuildOutcome((), error, 0.0)
    observe(job, "built")
    return outcome


def _parallel_builds(jobs: Sequence[Job]) -> int:
    wanted = jobs[0].config.limits.parallel_builds if jobs else None
    return wanted or max(2, (os.cpu_count() or 2) // 2)
