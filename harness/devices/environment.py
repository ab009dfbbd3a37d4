"""The facts of this machine that a number depends on, as they are read."""

from __future__ import annotations

import contextlib
import functools
import importlib.metadata
import importlib.util
import os
import platform
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import torch

from harness import __version__
from harness.devices.cuda.gpus import driver_version
from harness.model.environment import YOUNG_FLAGS, BackendName, Environment, Flag

FLAGS: dict[str, Flag] = {
    "cudnn_allow_tf32": True,
    "matmul_allow_tf32": False,
    "cudnn_benchmark": False,
    **YOUNG_FLAGS,
}
"""torch's defaults, set in every worker before its module is loaded, so that all arms begin under the same, whatever
the environment's variables say (TORCH_ALLOW_TF32_CUBLAS_OVERRIDE)."""

VARIABLES = (
    "TORCH_CUDA_ARCH_LIST",
    "NVCC_PREPEND_FLAGS",
    "NVCC_APPEND_FLAGS",
    "NVCC_CCBIN",
    "PYTORCH_NVCC",
    "CC",
    "CXX",
    "CPATH",
    "C_INCLUDE_PATH",
    "CPLUS_INCLUDE_PATH",
)
"""Variables that decide how kernels are compiled (gcc(1), nvcc's manual, torch.utils.cpp_extension)."""


def read_environment(backend: BackendName, workspace: Path) -> Environment:
    """Read the environment of an evaluation on this machine. Which of several GPUs it will be isn't known yet."""
    on_gpu = backend == "cuda"
    properties = torch.cuda.get_device_properties(0) if on_gpu else None
    return Environment(
        backend=backend,
        gpu=properties.name if properties else None,
        gpu_memory_bytes=properties.total_memory if properties else None,
        driver=driver_version() if on_gpu else None,
        compute_capability=f"{properties.major}.{properties.minor}" if properties else None,
        torch=torch.__version__,
        torch_cuda=torch.version.cuda,
        cudnn=str(torch.backends.cudnn.version()) if on_gpu else None,  # type: ignore[no-untyped-call]
        nvcc=nvcc_version(),
        host_compiler=host_compiler_version(),
        python=platform.python_version(),
        os=f"{platform.system()} {platform.release()}",
        cpu=_cpu(),
        cpu_count=os.cpu_count() or 1,
        harness=__version__,
        flags=FLAGS,
        commit=_commit(workspace),
        triton=_triton_version(),
        variables={name: value for name in VARIABLES if (value := os.environ.get(name))},
    )


def _triton_version() -> str | None:
    with contextlib.suppress(importlib.metadata.PackageNotFoundError):
        return importlib.metadata.version("triton")
    return None


@functools.cache
def nvcc_version() -> str | None:
    """Return '13.0.88' for the nvcc that torch.utils.cpp_extension builds with; None without one."""
    return _version_of(_nvcc())


@dataclass(frozen=True)
class Nvcc:
    """A CUDA compiler by the path of its program."""

    path: str
    version: str


def find_nvcc() -> Nvcc | None:
    """Find an nvcc to ask without a GPU: the one that torch builds with, or else the one of pip's packages."""
    for name in (_nvcc(), *_of_packages()):
        path, version = shutil.which(name), _version_of(name)
        if path and version:
            return Nvcc(os.path.abspath(path), version)
    return None


def _of_packages() -> list[str]:
    """List what `kernel-harness[nvcc]` installs beside torch, the newest CUDA first."""
    spec = importlib.util.find_spec("nvidia")
    folders = (spec.submodule_search_locations if spec else None) or ()
    return sorted((str(nvcc) for folder in folders for nvcc in Path(folder).glob("cu*/bin/nvcc")), reverse=True)


def _version_of(nvcc: str) -> str | None:
    match = re.search(r"V([\d.]+)", _output(nvcc, "--version") or "")
    return match[1] if match else None


def _nvcc() -> str:
    if chosen := os.environ.get("PYTORCH_NVCC"):
        return chosen
    if home := os.environ.get("CUDA_HOME") or os.environ.get("CUDA_PATH"):
        return os.path.join(home, "bin", "nvcc")
    return shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"


@functools.cache
def host_compiler_version() -> str | None:
    """Return the first line of the C++ compiler's --version, or None."""
    text = _output(os.environ.get("CXX", "c++"), "--version")
    return text.splitlines()[0] if text else None


def _cpu() -> str:
    with contextlib.suppress(OSError):
        match = re.search(r"model name\s*:\s*(.+)", Path("/proc/cpuinfo").read_text())
        if match:
            return match[1].strip()
    return platform.machine()


def _commit(folder: Path) -> str | None:
    commit = _output("git", "-C", str(folder), "rev-parse", "--short=12", "HEAD")
    if not commit:
        return None
    changed = _output("git", "-C", str(folder), "status", "--porcelain", "--untracked-files=no")
    return commit.strip() + ("+" if changed else "")


def _output(*command: str) -> str | None:
    try:
        result = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return result.stdout if result.returncode == 0 else None
