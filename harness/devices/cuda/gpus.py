"""The GPUs that this process may use, and how to name one to another process.

Code that asks the driver alone does without torch, which takes two seconds to be imported.
"""

from __future__ import annotations

import ctypes
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from harness.devices.base import Host, SharedBuffer
from harness.errors import MachineError

if TYPE_CHECKING:
    from harness.sandbox.wire.device import SeenGpu

_MAJOR, _MINOR = 75, 76  # CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_*, cuda.h
_VERSION_BYTES = 80  # NVML_SYSTEM_DRIVER_VERSION_BUFFER_SIZE, nvml.h
_OF_AMD = Path("/sys/module/amdgpu/version")
"""AMD's own driver has it; the one that comes with Linux has Linux's version."""


@dataclass(frozen=True)
class Gpu:
    """A visible GPU. `index` is torch's; `uuid` names it on the whole machine ('GPU-…')."""

    index: int
    model: str
    uuid: str

    @property
    def variables(self) -> dict[str, str]:
        """The environment of a process that is to see this GPU alone."""
        from harness.devices.cuda.hip import IS_HIP, visible_alone

        return visible_alone(self.index) if IS_HIP else {"CUDA_VISIBLE_DEVICES": self.uuid}

    @property
    def nvml_names(self) -> tuple[str, ...]:
        """UUIDs under which NVML may know it, the surest first. torch writes an instance of a divided GPU (MIG) like a
        whole one, or gives the UUID of the GPU that it is part of; CUDA_VISIBLE_DEVICES names the instance."""
        names = [name.strip() for name in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",")]
        visible_as = names[self.index] if self.index < len(names) else ""
        instance = (visible_as,) if visible_as.startswith("MIG-") else ()
        return (*instance, self.uuid, self.uuid.replace("GPU-", "MIG-", 1))


def equal_gpus() -> list[Gpu]:
    """List the first visible GPU and all of its model: results of one run are compared, so they come from one kind."""
    import torch

    gpus = [_gpu(index) for index in range(torch.cuda.device_count())]
    return [gpu for gpu in gpus if gpu.model == gpus[0].model]


def gpu_uuid(index: int = 0) -> str:
    """Return 'GPU-…' for torch's GPU of this number."""
    import torch

    return f"GPU-{torch.cuda.get_device_properties(index).uuid}"


def compute_capability() -> str | None:
    """Return '9.0' for the first visible GPU; None without a driver or a GPU."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return None
    device, major, minor = ctypes.c_int(), ctypes.c_int(), ctypes.c_int()
    codes = (
        driver.cuInit(0),
        driver.cuDeviceGet(ctypes.byref(device), 0),
        driver.cuDeviceGetAttribute(ctypes.byref(major), _MAJOR, device),
        driver.cuDeviceGetAttribute(ctypes.byref(minor), _MINOR, device),
    )
    return None if any(codes) else f"{major.value}.{minor.value}"


def driver_version() -> str | None:
    """Return '580.65.06'; AMD's without NVML, else None."""
    try:
        nvml = ctypes.CDLL("libnvidia-ml.so.1")
    except OSError:
        return _OF_AMD.read_text().strip() if _OF_AMD.is_file() else None
    version = ctypes.create_string_buffer(_VERSION_BYTES)
    if nvml.nvmlInit_v2():
        return None
    try:
        return version.value.decode() if nvml.nvmlSystemGetDriverVersion(version, _VERSION_BYTES) == 0 else None
    finally:
        nvml.nvmlShutdown()


def is_only_gpu() -> bool:
    """Tell whether only one GPU is visible, once compute_capability() has found one."""
    count = ctypes.c_int()
    return ctypes.CDLL("libcuda.so.1").cuDeviceGetCount(ctypes.byref(count)) == 0 and count.value == 1


def worker_environment(capability: str, for_build: bool) -> dict[str, str]:
    """Return a worker's variables. A build needs the architecture's name, not the GPU, which measures meanwhile."""
    architecture = os.environ.get("TORCH_CUDA_ARCH_LIST") or capability
    hidden = {"CUDA_VISIBLE_DEVICES": ""} if for_build else {}
    return {"TORCH_CUDA_ARCH_LIST": architecture, **hidden}


def _gpu(index: int) -> Gpu:
    import torch

    properties = torch.cuda.get_device_properties(index)
    model = f"{properties.name}, {properties.total_memory >> 20} MiB, {properties.major}.{properties.minor}"
    return Gpu(index, model, gpu_uuid(index))


@dataclass
class DistantGpu(Host):
    """A GPU of another machine, for workers that build for it here."""

    seen: SeenGpu
    name: Literal["cuda", "sim"] = "cuda"
    torch_device: str = "cpu"

    def allocate(self, nbytes: int) -> SharedBuffer:
        raise MachineError("the GPU is in another machine")

    def worker_environment(self, for_build: bool) -> dict[str, str]:
        return worker_environment("{major}.{minor}".format(**self.seen.properties), for_build)

    def seen_gpu(self) -> SeenGpu:
        return self.seen

    def require_alive(self) -> None:
        raise MachineError("the GPU is in another machine")
