"""Compiling a solution's Triton kernels before it gets a GPU: a worker that doesn't see one calls the solution with
tensors without values.

Nothing is decided by that, since a solution without a GPU may take another way: its failures count on the GPU alone.
Kernels that the call doesn't reach are compiled there.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import time
from collections.abc import Sequence
from pathlib import Path

import torch

from harness.builder.extension_cache import keep_text
from harness.builder.workers import Workers, bring, seen_files
from harness.devices import FLAGS
from harness.model.languages import TRITON, python_languages_in
from harness.model.record import hash_contents
from harness.sandbox.process import SolutionRaised
from harness.sandbox.wire.codec import encode
from harness.sandbox.wire.layout import extensions_folder
from harness.sandbox.wire.messages import Construct, Load, Rehearse
from harness.workspace.solution import Solution

Calls = Sequence[tuple[Construct, Rehearse]]


def is_rehearsed(workers: Workers, solution: Solution) -> bool:
    """Say whether there is anything to compile before a GPU launches it."""
    is_nvidias = workers.host.name == "cuda" and torch.version.hip is None
    return is_nvidias and TRITON.is_installed and TRITON in python_languages_in(solution.texts())


def rehearse(workers: Workers, solution: Solution, calls: Calls, build_s: float, compilers: str | None) -> None:
    """Construct and call the solution so, within `build_s`, unless that was done before. `compilers` is bring()'s.

    Raises: HarnessError as bring(), MachineError, Interrupted; SolutionFailed for what takes too long or too much.
    """
    gpu, spec = workers.host.seen_gpu(), importlib.util.find_spec(TRITON.module)
    if gpu is None or spec is None or spec.origin is None:
        return
    version = Path(spec.origin).stat().st_mtime_ns
    asked = json.dumps([version, torch.__version__, encode(gpu), [[encode(one) for one in call] for call in calls]])
    namespace = hash_contents(seen_files(solution.folder).items())
    kept = extensions_folder(workers.cache, workers.host.name) / namespace
    done = kept / "rehearsed" / hash_contents([("calls", asked.encode())])
    if done.exists():
        return
    end = time.monotonic() + build_s
    with workers.start(for_build=True) as worker:
        path = bring(worker, solution.folder, None, compilers)
        load = Load(path, "ModelNew", FLAGS, compilers, gpu, is_rehearsed=True)
        for steps in ([load], *calls):
            with contextlib.suppress(SolutionRaised):
                for step in steps:
                    worker.ask(step, max(0.0, end - time.monotonic()))
    keep_text(done, "")
