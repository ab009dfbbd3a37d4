"""`harness.tools.arm_process FILE`: the process under a tool, which holds one arm and calls it.

Started by NVIDIA's tools as their child, never by hand. FILE is an ArmTask as JSON.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import json
import sys
import traceback
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.sandbox.wire.codec import decode, encode
from harness.sandbox.wire.layout import scratch_folder
from harness.tools.arm_task import REPORT, SEED, TRACE, ArmReport, ArmTask, InlineSource

if TYPE_CHECKING:
    from harness.referee.answers.reference import Reference

_LINES_OF_TORCH = 3
"""load_inline() writes '#include' lines of torch/types.h, cuda.h and cuda_runtime.h before CUDA sources."""


class _Protocol:
    """The process's report on itself: the one on the disk is always that of now."""

    def __init__(self, folder: Path) -> None:
        self._path = scratch_folder(folder) / REPORT
        self.report = ArmReport()

    def tell(self, **facts: Any) -> None:
        """Change these fields of the report."""
        self.report = replace(self.report, **facts)
        self._path.write_text(json.dumps(encode(self.report)), encoding="utf-8")


def main() -> None:
    task = decode(ArmTask, json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")))
    protocol = _Protocol(task.sandbox.path)
    protocol.tell(stage="start")
    try:
        _run(task, protocol)
    except Exception as error:  # the border of the process: what the arm raised is told, not printed
        protocol.tell(error="".join(traceback.format_exception(error)))
        sys.exit(1)


def _run(task: ArmTask, protocol: _Protocol) -> None:
    """The inputs are made before anything of the solution is there, and before the process gives up its rights."""
    import harness.devices

    device = harness.devices.activate_worker("cuda", [])
    import torch

    from harness.referee.answers.reference import Reference
    from harness.workspace.workspace import Workspace

    torch.set_grad_enabled(False)
    problem = Workspace(Path(task.workspace)).problem(task.problem)
    reference = Reference(problem, task.case, "cuda")
    inputs = reference.make_inputs(SEED)
    torch.cuda.synchronize()
    if task.solution is None:
        protocol.tell(stage="construct")
        model: Any = reference.construct(SEED)
    else:
        model = _hold(task, reference, device, protocol)
    protocol.tell(stage="call")
    for _ in range(task.calls.warm_ups):
        model(*inputs)
    torch.cuda.synchronize()
    with _observed(task):
        for _ in range(task.calls.count):
            model(*inputs)
        torch.cuda.synchronize()
    protocol.tell(stage="end")


def _hold(task: ArmTask, reference: Reference, device: Any, protocol: _Protocol) -> Any:
    """The solution's model, with the extensions that the build step has left."""
    from harness.devices import FLAGS
    from harness.sandbox.wire.codec import encode_value
    from harness.sandbox.wire.messages import Construct, Load
    from harness.worker.arm import Arm
    from harness.worker.confinement import confine_thread
    from harness.worker.extensions import route_extensions

    arm = Arm(device, route_extensions(task.sandbox.path, "cuda"))
    _note_sources(protocol)
    protocol.tell(protections=confine_thread(task.sandbox))
    assert task.solution is not None
    protocol.tell(stage="load")
    arm.load(Load(task.solution, "ModelNew", FLAGS, task.compilers, builds_others=True))
    protocol.tell(stage="construct")
    init_inputs, forms = map(encode_value, (reference.init_inputs, reference.forms))
    arm.construct(Construct(init_inputs, SEED, step=reference.step, forms=forms))
    return arm.model


def _note_sources(protocol: _Protocol) -> None:
    """Keep what load_inline() is given: compilers and tools name lines of a file that is gone with its build."""
    from torch.utils import cpp_extension

    routed: Callable[..., Any] = cpp_extension.load_inline
    signature = inspect.signature(routed)

    @functools.wraps(routed)
    def load_inline(*args: Any, **kwargs: Any) -> Any:
        with contextlib.suppress(TypeError):  # a call that can't be: torch has the words for it
            given = signature.bind(*args, **kwargs).arguments
            texts = given.get("cuda_sources") or []
            text = "\n".join([texts] if isinstance(texts, str) else map(str, texts))
            before = 0 if given.get("no_implicit_headers") else _LINES_OF_TORCH
            protocol.tell(sources=(*protocol.report.sources, InlineSource(text, before)))
        return routed(*args, **kwargs)

    cpp_extension.load_inline = load_inline


@contextlib.contextmanager
def _observed(task: ArmTask) -> Iterator[None]:
    import torch

    if task.calls.mode == "plain":
        yield
    elif task.calls.mode == "marked":
        runtime = torch.cuda.cudart()  # type: ignore[no-untyped-call]
        runtime.cudaProfilerStart()
        yield
        runtime.cudaProfilerStop()
    else:
        with torch.profiler.profile(acc_events=True) as profile:
            yield
        profile.export_chrome_trace(str(scratch_folder(task.sandbox.path) / TRACE))


if __name__ == "__main__":
    main()
