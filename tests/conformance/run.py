"""Run as a process: builds the kernels for one backend, runs each case on it and saves what came of it.

`python run.py BACKEND KERNELS OUTPUT [TOOLKIT]`; `checked` is the simulator with `--sanitize`. A process of its own,
since the simulator must come before torch.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.cudasim import Toolkit
from harness.devices.sim.device import SimDevice, activate

if TYPE_CHECKING:
    import torch

FLAGS = ["--expt-extended-lambda", "--expt-relaxed-constexpr"]


def main(backend: str, kernels: str, output: str, toolkit: str = "") -> None:
    device = None if backend == "cuda" else activate(Toolkit(Path(toolkit), is_checked=backend == "checked"))
    import torch

    if device is None and torch.cuda.get_device_capability() == (9, 0):
        os.environ["TORCH_CUDA_ARCH_LIST"] = "9.0a"  # for wgmma
    with tempfile.TemporaryDirectory() as build:
        extension = _build(Path(kernels), build)
        torch.save(_run_all(extension, device), output)


def _build(kernels: Path, build: str) -> Any:  # the module that torch compiles
    from torch.utils.cpp_extension import load

    return load(
        "harness_conformance",
        sources=[str(source) for source in sorted(kernels.glob("*.cu"))],
        extra_cuda_cflags=FLAGS,
        extra_ldflags=["-lcublas", "-lcublasLt"],
        build_directory=build,
    )


def _run_all(extension: Any, device: SimDevice | None) -> dict[str, dict[str, Any]]:
    """By case: its outputs on the CPU, its error and, on the simulator, its findings. `*` names all cases built."""
    from tests.conformance.cases import CASES

    outcomes: dict[str, dict[str, Any]] = {"*": {"names": extension.names()}}
    for case in CASES:
        inputs, outputs = case.buffers()
        try:
            on_device = [tensor.cuda() for tensor in (*inputs, *outputs)]
            extension.run(case.name, on_device)
            got: list[torch.Tensor] = [tensor.cpu() for tensor in on_device[len(inputs) :]]
            outcomes[case.name] = {"outputs": got, "error": None}
        except (RuntimeError, IndexError) as error:
            outcomes[case.name] = {"outputs": [], "error": str(error)}
        if device is not None:
            outcomes[case.name]["findings"] = [f"{f.kind}: {f.detail}" for f in device.take_findings()[0]]
            device.reset_errors()
    return outcomes


if __name__ == "__main__":
    main(*sys.argv[1:])
