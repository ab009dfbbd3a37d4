"""Run as a process: builds checked_kernels.cu once for the checked build, runs each of its kernels and prints what was
found as JSON, by name."""

from __future__ import annotations

import ctypes
import json
import os
import sys
import tempfile
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from harness.cudasim.toolkit import Toolkit
from harness.devices.sim.device import activate
from harness.sandbox.wire.device import BufferHandle
from tests.cudasim.fault_page import COUNT, DECLARATIONS, KERNELS

DEVICE = activate(Toolkit(Path(sys.argv[1]), is_checked=True))

import torch  # noqa: E402 - the simulator is there by now
from torch.utils.cpp_extension import load_inline  # noqa: E402

PERIOD = 64 << 20


def main() -> None:
    with tempfile.TemporaryDirectory() as build:
        extension = load_inline(
            "harness_sim_checked",
            cpp_sources=DECLARATIONS,
            cuda_sources=KERNELS.read_text(),
            functions=["names", "run", "pool"],
            build_directory=build,
        )
        ctypes.CDLL(None).sim_check(0)  # as a solution may; what is asked for once stays
        outcomes = {name: _run(partial(extension.run, name), name) for name in extension.names()}
        for name in OUTPUTS:
            outcomes[name] = _run(partial(_measured, extension, name), name)
        outcomes["replayed"] = _run(partial(_replayed, extension), "replayed")
        for name, wide in (("sampled_at_the_full_shape", True), ("sampled_with_a_narrow_index", False)):
            outcomes[name] = _run(partial(_sampled, extension, wide), name)
    print(json.dumps(outcomes))


Scenario = Callable[[Any, Any], object]

OUTPUTS: dict[str, Callable[[Any, Any], tuple[Any, ...]]] = {
    "half_an_output": lambda a, b: (b,),
    "gap_in_an_output": lambda a, b: (b.view(10, 100),),
    "second_output": lambda a, b: (a, b),
    "whole_outputs": lambda a, b: (b, a.view(10, 100).t()),
}
"""What each of these cases gives back as its outputs."""


def _run(scenario: Scenario, name: str) -> dict[str, object]:
    error, value = None, None
    a = _input() if name.startswith("input_") else torch.arange(COUNT, device="cuda", dtype=torch.float32)
    b = torch.empty(COUNT, device="cuda")
    DEVICE.take_findings()
    try:
        value = scenario(a, b)
        DEVICE.synchronize()
    except RuntimeError as raised:
        error = str(raised).splitlines()[0]
    findings, _ = DEVICE.take_findings()
    DEVICE.reset_errors()
    return {"error": error, "value": value, "findings": [asdict(finding) for finding in findings]}


def _measured(extension: Any, name: str, a: Any, b: Any) -> None:
    """As a turn of the referee's takes it."""
    DEVICE.measure(
        lambda: extension.run(name, a, b),
        lambda result: [(output, torch.zeros(output.shape, device="cuda")) for output in OUTPUTS[name](a, b)],
    )


def _replayed(extension: Any, a: Any, b: Any) -> object:
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        extension.run("torchs_stream", a, b)
    before = torch.ops.harness_sim.count_unwritten(b)[0]
    graph.replay()
    return [before, torch.ops.harness_sim.count_unwritten(b)[0]]


def _sampled(extension: Any, wide: bool, *_: object) -> object:
    """Four blocks of a launch over 4.5e9 floats on 64 MiB of memory."""
    descriptor = os.memfd_create("input")
    os.ftruncate(descriptor, PERIOD)
    os.pwrite(descriptor, b"\x00\x00\x80\x3f\x00\x00\x00\x40" * (PERIOD // 8), 0)
    handle = BufferHandle("periodic_memfd", nbytes=18 << 30, period=PERIOD)
    x = DEVICE.open_buffer(handle, descriptor).view(torch.float32)
    before = _resident_nbytes()
    DEVICE.limit_launches(4, seed=1)
    try:
        out = DEVICE.measure(lambda: extension.pool(x, wide), lambda result: ()).result
        DEVICE.synchronize()
    finally:
        DEVICE.limit_launches()
    assert isinstance(out, torch.Tensor)
    return [[float(out[0]), float(out[-1])], _resident_nbytes() - before < 64 << 20]


def _resident_nbytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


def _input() -> Any:
    """As the referee hands it to a worker."""
    descriptor = os.memfd_create("input")
    os.ftruncate(descriptor, 4 * COUNT)
    return DEVICE.open_buffer(BufferHandle("memfd", nbytes=4 * COUNT), descriptor).view(torch.float32)


if __name__ == "__main__":
    main()
