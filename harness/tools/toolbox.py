"""Finding NVIDIA's tools, and what to do where one is missing or isn't allowed to work."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path

from harness.errors import MachineError
from harness.model.environment import MachineFinding

_PACKAGES = {"ncu": "Nsight Compute (package nsight-compute)", "compute-sanitizer": "the CUDA toolkit's sanitizer"}
_USED_BY = {"ncu": "harness profile", "compute-sanitizer": "harness sanitize"}
_USUAL = ("/usr/local/cuda",)
_OWN_FOLDERS = Path("/opt/nvidia/nsight-compute")
"""A place with a folder for each version of Nsight Compute."""
_REFUSALS = (
    (
        "ERR_NVGPUCTRPERM",
        "the driver lets administrators alone read the GPU's counters; run as root (in a container with "
        "--cap-add SYS_ADMIN), or let everybody: 'options nvidia NVreg_RestrictProfilingToAdminUsers=0' in "
        "/etc/modprobe.d/nvidia.conf, then reboot",
    ),
    (
        r"driver resource was unavailable|LibraryNotLoaded|Failed to initialize the profiler",
        "the driver gives the counters to nobody here: another profiler may hold them (DCGM: 'dcgmi profile "
        "--pause'), or this virtual machine or sandbox doesn't pass them on",
    ),
    (
        r"Device not supported|not supported on (this|the) (device|GPU)|No supported GPU",
        "the tool doesn't know this GPU: install the one of a newer CUDA toolkit; gVisor hides GPUs too",
    ),
    (
        r"InterprocessLock|nsight-compute-lock",
        "another ncu holds its lock, or may not share it: wait, or remove the file",
    ),
)
"""The tools' messages and their remedies (NVIDIA's page on ERR_NVGPUCTRPERM; Nsight Compute's manual, FAQ)."""


def find_tool(name: str, environment: Mapping[str, str] = os.environ) -> Path:
    """`name` on the PATH, in the CUDA toolkit or in Nsight Compute's own folder, the newest. Raises: MachineError."""
    if found := shutil.which(name, path=environment.get("PATH")):
        return Path(found).absolute()  # it will be started from another folder
    homes = [environment.get("CUDA_HOME"), environment.get("CUDA_PATH"), *_USUAL]
    for home in filter(None, homes):
        for place in (Path(home) / "bin" / name, Path(home) / "compute-sanitizer" / name):
            if os.access(place, os.X_OK):
                return place
    for place in sorted(_OWN_FOLDERS.glob(f"*/{name}"), reverse=True):
        if os.access(place, os.X_OK):
            return place
    raise MachineError(
        f"no '{name}' on the PATH, in CUDA_HOME or in /usr/local/cuda: install {_PACKAGES[name]}, or set CUDA_HOME"
    )


def examine_tools() -> list[MachineFinding]:
    """Findings on whether they are there, for `harness doctor`."""
    return [_examine(name, command) for name, command in _USED_BY.items()]


def refusal(said: str) -> str | None:
    """Say what to do about a tool that printed this; None where it says nothing that is known."""
    return next((remedy for pattern, remedy in _REFUSALS if re.search(pattern, said)), None)


def _examine(name: str, command: str) -> MachineFinding:
    try:
        return MachineFinding(name, "good", str(find_tool(name)))
    except MachineError as error:
        _, _, remedy = str(error).partition(": ")
        return MachineFinding(name, "warning", f"not found: '{command}' needs it", remedy)
