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
    """Build the job's solution, and the texts that are `wanted`. Raises: Interrupted."""
    try:
        init_inputs = Reference(job.problem, job.cases[0], "cpu").init_inputs
        return build(workers, job.solution, init_inputs, job.config.limits, job.solution_ref.sha256, wanted)
    except Interrupted:
        raise
    except Exception as error:  # the border of the thread
        return BuildOutcome((), error, 0.0)


def compile_ahead(job: Job, workers: Workers, built: BuildOutcome) -> BuildOutcome:
    """Compile Triton's kernels while others use the device, which would do it sooner. Whatever goes wrong is left to
    the worker that launches them. Raises: Interrupted."""
    started = time.monotonic()
    try:
        if is_rehearsed(workers, job.solution):
            rehearse(workers, job.solution, list(_calls(job)), job.config.limits.build_s, built.compilers)
    except Interrupted:
        raise
    except Exception:  # the border of the thread; nothing hangs on it
        pass
    return replace(built, seconds=built.seconds + time.monotonic() - started)


def _calls(job: Job) -> Iterator[tuple[Construct, Rehearse]]:
    """A forward call of each case whose inputs can be known without their values."""
    for case in job.cases:
        with contextlib.suppress(InvalidProblem):
            reference = Reference(job.problem, case, "cpu")
            inputs = tuple(map(_argument, reference.forward_specs()))
            yield Construct(encode_value(reference.init_inputs), 0), Rehearse(inputs, encode_value(reference.forms))


def _argument(value: Any) -> Argument:
    if not isinstance(value, torch.Tensor):
        return Argument(value=encode_value(value))
    return Argument(TensorRef(0, dtype_name(value.dtype), tuple(value.shape), value.stride()))
