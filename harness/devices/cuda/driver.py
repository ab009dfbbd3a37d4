"""The CUDA driver, asked without torch, which takes two seconds to be imported."""

from __future__ import annotations

import ctypes
import os

_MAJOR, _MINOR = 75, 76  # CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_*, cuda.h


def compute_capability() -> str | None:
    """'9.0' for the first visible GPU; None without a driver or a GPU."""
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


def is_only_gpu() -> bool:
    """Whether one GPU is visible, which compute_capability() has found."""
    count = ctypes.c_int()
    return ctypes.CDLL("libcuda.so.1").cuDeviceGetCount(ctypes.byref(count)) == 0 and count.value == 1


def worker_environment(capability: str, for_build: bool) -> dict[str, str]:
    """A build needs the architecture's name, not the GPU, which meanwhile measures something else."""
    architecture = os.environ.get("TORCH_CUDA_ARCH_LIST") or capability
    hidden = {"CUDA_VISIBLE_DEVICES": ""} if for_build else {}
    return {"TORCH_CUDA_ARCH_LIST": architecture, **hidden}
