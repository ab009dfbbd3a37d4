"""HIP in the place of CUDA, where torch is built for AMD's GPUs (ROCm).

Its functions take the same arguments under names of their own (HIP porting guide, Driver API), and hiprtc compiles
kernels of ours when they are first needed. Nothing of this has run on such a GPU yet: tests hold the names and the
kernels against AMD's libraries, where these are installed.
"""

from __future__ import annotations

import ctypes
import os
from pathlib import Path

import torch

IS_HIP = torch.version.hip is not None

DRIVER_NAMES = {
    "cuEventRecord": "hipEventRecord",
    "cuEventSynchronize": "hipEventSynchronize",
    "cuEventQuery": "hipEventQuery",
    "cuEventElapsedTime": "hipEventElapsedTime",
    "cuEventCreate": "hipEventCreateWithFlags",
    "cuCtxSynchronize": "hipDeviceSynchronize",
    "cuCtxGetCurrent": "hipCtxGetCurrent",
    "cuCtxSetCurrent": "hipCtxSetCurrent",
    "cuMemcpyDtoDAsync_v2": "hipMemcpyDtoDAsync",
    "cuMemsetD8Async": "hipMemsetD8Async",
    "cuMemHostAlloc": "hipHostMalloc",
    "cuModuleLoadData": "hipModuleLoadData",
    "cuModuleGetFunction": "hipModuleGetFunction",
    "cuLaunchKernel": "hipModuleLaunchKernel",
    "cuGetErrorString": "hipDrvGetErrorString",
}
"""HIP's names of the functions of CUDA's driver that the meter calls. AMD's L2 cache has no persisting lines."""

_OPTIONS = (b"-O3", b"-D__grid_constant__=")


def architecture() -> str:
    """Return 'gfx942' for the first visible GPU."""
    return str(torch.cuda.get_device_properties(0).gcnArchName).partition(":")[0]


def worker_environment(for_build: bool) -> dict[str, str]:
    """Return a worker's variables, as gpus.worker_environment() does for NVIDIA's GPUs."""
    hidden = {"HIP_VISIBLE_DEVICES": "-1"} if for_build else {}
    return {"PYTORCH_ROCM_ARCH": os.environ.get("PYTORCH_ROCM_ARCH") or architecture(), **hidden}


def visible_alone(index: int) -> dict[str, str]:
    """Return the environment of a process that is to see torch's GPU of this index alone. HIP counts them anew in
    each process, and knows no UUIDs."""
    names = os.environ.get("HIP_VISIBLE_DEVICES") or os.environ.get("CUDA_VISIBLE_DEVICES")
    return {"HIP_VISIBLE_DEVICES": names.split(",")[index].strip() if names else str(index)}


def compile_kernels(source: Path, target: str, library: ctypes.CDLL) -> bytes:
    """Compile a file of kernels for an architecture with hiprtc. Raises: RuntimeError with the compiler's words."""
    program, size = ctypes.c_void_p(), ctypes.c_size_t()
    text, name = source.read_bytes(), source.name.encode()
    created = library.hiprtcCreateProgram(ctypes.byref(program), text, name, 0, None, None)
    options = (f"--offload-arch={target}".encode(), *_OPTIONS)
    given = (ctypes.c_char_p * len(options))(*options)
    if created or library.hiprtcCompileProgram(program, len(options), given):
        library.hiprtcGetProgramLogSize(program, ctypes.byref(size))
        log = ctypes.create_string_buffer(size.value + 1)
        library.hiprtcGetProgramLog(program, log)
        raise RuntimeError(f"hiprtc doesn't compile {source.name} for {target}: {log.value.decode(errors='replace')}")
    library.hiprtcGetCodeSize(program, ctypes.byref(size))
    code = ctypes.create_string_buffer(size.value)
    library.hiprtcGetCode(program, code)
    library.hiprtcDestroyProgram(ctypes.byref(program))
    return code.raw


def compiler_beside(runtime: str) -> ctypes.CDLL:
    """Open the hiprtc that lies beside the HIP library of this path; older ones have it within."""
    beside = sorted(Path(runtime).parent.glob("libhiprtc.so*"))
    return ctypes.CDLL(str(beside[0]) if beside else runtime)
