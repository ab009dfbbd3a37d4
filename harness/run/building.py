"""The build of a job, whatever becomes of it: an outcome, never an exception."""

from __future__ import annotations

from collections.abc import Sequence

from harness.builder.build import BuildOutcome, build
from harness.builder.workers import Workers
from harness.errors import Interrupted
from harness.referee.answers.reference import Reference
from harness.referee.job import Job
from harness.sandbox.wire.extension_text import ExtensionText


def build_job(job: Job, workers: Workers, wanted: Sequence[ExtensionText]) -> BuildOutcome:
    """Build the job's solution, and the texts that are `wanted`. Raises: Interrupted."""
    try:
        init_inputs = Reference(job.problem, job.cases[0], "cpu").init_inputs
        return build(workers, job.solution, init_inputs, job.config.limits, job.solution_ref.sha256, wanted)
    except Interrupted:
        raise
    except Exception as error:  # the border of the thread
        return BuildOutcome((), error, 0.0)
