"""Compiling a solution's Triton kernels before it gets a GPU: a worker that doesn't see one calls the solution with
tensors without values. What it can't come to so is compiled by the worker that launches it.
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import json
from collections.abc import Sequence

from harness.builder.extension_cache import keep_text
from harness.builder.triton_refusal import refused_by_triton
from harness.builder.workers import Workers, bring, seen_files
from harness.devices import FLAGS
from harness.model.config import LimitsConfig
from harness.model.languages import TRITON, python_languages_in
from harness.model.record import hash_contents
from harness.sandbox.outcome import SolutionFailed
from harness.sandbox.process import SolutionRaised, TextsNotBuilt
from harness.sandbox.wire.codec import encode
from harness.sandbox.wire.layout import extensions_folder
from harness.sandbox.wire.messages import Construct, Load, Rehearse
from harness.workspace.solution import Solution


def is_rehearsed(workers: Workers, solution: Solution) -> bool:
    """Say whether there is anything to compile before a GPU launches it."""
    return workers.host.name == "cuda" and TRITON.is_installed and TRITON in python_languages_in(solution.texts())


def rehearse(
    workers: Workers,
    solution: Solution,
    calls: Sequence[tuple[Construct, Rehearse]],
    limits: LimitsConfig,
    sha256: str | None,
    compilers: str | None,
) -> SolutionFailed | None:
    """Construct and call the solution so, unless that was done before; `sha256` and `compilers` are bring()'s. Return
    the refusal of Triton's compiler. Whatever else goes wrong is left to the worker that launches.

    Raises: MachineError, Interrupted, and HarnessError as bring().
    """
    gpu = workers.host.seen_gpu()
    versions = [importlib.metadata.version(name) for name in (TRITON.package, "torch")]
    asked = json.dumps([versions, encode(gpu), [[encode(one) for one in call] for call in calls]])
    namespace = hash_contents(seen_files(solution.folder).items())
    kept = extensions_folder(workers.cache, workers.host.name) / namespace
    done = kept / "rehearsed" / hash_contents([("calls", asked.encode())])
    if gpu is None or done.exists():
        return None
    with workers.start(for_build=True) as worker, contextlib.suppress(SolutionFailed, TextsNotBuilt):
        path = bring(worker, solution.folder, sha256, compilers)
        load = Load(path, "ModelNew", FLAGS, compilers, gpu, is_rehearsed=True)
        for steps in ([load], *calls):
            try:
                for step in steps:
                    worker.ask(step, limits.build_s)
            except SolutionRaised as error:
                if refused := refused_by_triton(error.raised):
                    return refused
    keep_text(done, "")
    return None
