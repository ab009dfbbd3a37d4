"""Run as a process: builds checked_kernels.cu once for the checked build, runs each of its kernels and prints what was
found as JSON, by name."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

from harness.backends.base import BufferHandle
from harness.backends.sim.device import SimDevice, activate
from harness.backends.sim.toolkit import Toolkit

DECLARATIONS = """
std::vector<std::string> names();
void run(std::string name, torch::Tensor a, torch::Tensor b);
"""
COUNT = 1000


def main(toolkit: str) -> None:
    device = activate(Toolkit(Path(toolkit), is_checked=True))
    from torch.utils.cpp_extension import load_inline

    with tempfile.TemporaryDirectory() as build:
        extension = load_inline(
            "harness_sim_checked",
            cpp_sources=DECLARATIONS,
            cuda_sources=Path(__file__).with_name("checked_kernels.cu").read_text(),
            functions=["names", "run"],
            build_directory=build,
        )
        chosen = sys.argv[2:] or extension.names()
        outcomes = {name: _run(device, extension, name) for name in chosen}
    print(json.dumps(outcomes))


def _run(device: SimDevice, extension: Any, name: str) -> dict[str, object]:
    import torch

    error = None
    a = _input(device) if name.startswith("input_") else torch.arange(COUNT, device="cuda", dtype=torch.float32)
    b = torch.empty(COUNT, device="cuda")
    device.take_findings()
    try:
        extension.run(name, a, b)
        device.synchronize()
    except RuntimeError as raised:
        error = str(raised).splitlines()[0]
    findings, _ = device.take_findings()
    device.reset_errors()
    return {"error": error, "findings": [asdict(finding) for finding in findings]}


def _input(device: SimDevice) -> Any:
    """As the referee hands it to a worker."""
    import torch

    descriptor = os.memfd_create("input")
    os.ftruncate(descriptor, 4 * COUNT)
    return device.open_buffer(BufferHandle("memfd", nbytes=4 * COUNT), descriptor).view(torch.float32)


if __name__ == "__main__":
    main(sys.argv[1])
