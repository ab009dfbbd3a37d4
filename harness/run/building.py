"""The build of a job, whatever becomes of it: an outcome, never an exception."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import torch

from harness.builder.build import BuildOutcome, build
from harness.builder.rehearsal import is_rehearsed, rehearse
from harness.builder.workers import Workers
from harness.errors import Interrupted
from harness.referee.answers.invalid_problem import InvalidProblem
from harness.referee.answers.output_spec import dtype_name
from harness.referee.answers.reference import Reference
from harness.referee.job import Job
from harness.sandbox.wire.codec import encode_value
from harness.sandbox.wire.extension_text import ExtensionText
from harness.sandbox.wire.messages import Argument, Construct, Rehearse, TensorRef


def build_job(job: Job, workers: Workers, wanted: Sequence[ExtensionText]) -> BuildOutcome:
    """Build the job's solution, and the texts that are `wanted`; compile what else needs no GPU. Raises:
    Interrupted."""
    try:
        init_inputs = Reference(job.problem, job.cases[0], "cpu").init_inputs
        limits, sha256 = job.config.limits, job.solution_ref.sha256
        outcome = build(workers, job.solution, init_inputs, limits, sha256, wanted)
        if outcome.failed is not None or not is_rehearsed(workers, job.solution):
            return outcome
        started = time.monotonic()
        failed = rehearse(workers, job.solution, list(_calls(job)), limits, sha256, outcome.compilers)
        return replace(outcome, failed=failed, seconds=outcome.seconds + time.monotonic() - started)
    except Interrupted:
        raise
    except Exception as error:  # the border of the thread
        return BuildOutcome((), error, 0.0)


def _calls(job: Job) -> Iterator[tuple[Construct, Rehearse]]:
    """A call of each case whose inputs can be known without their values."""
    for case in job.cases:
        with contextlib.suppress(InvalidProblem):
            reference = Reference(job.problem, case, "cpu")
            inputs = tuple(map(_argument, reference.input_specs()))
            forms = encode_value(reference.forms)
            yield Construct(encode_value(reference.init_inputs), 0), Rehearse(inputs, reference.step, forms)


def _argument(value: Any) -> Argument:
    if not isinstance(value, torch.Tensor):
        return Argument(value=encode_value(value))
    return Argument(TensorRef(0, dtype_name(value.dtype), tuple(value.shape), value.stride()))
