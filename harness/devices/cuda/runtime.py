"""The few calls of the CUDA runtime, or of HIP's, that torch doesn't expose: memory shared between processes.

Shared buffers are allocations of their own, never pieces of torch's cache: a cudaIpcMemHandle_t opens the whole
allocation behind it, and with it whatever else lies there. For the same reason sizes are rounded up to 2 MiB, the
granularity at which the driver divides allocations (CUDA Programming Guide, Interprocess Communication).
"""

from __future__ import annotations

import ctypes
import functools
import re
from pathlib import Path
from typing import Any

import torch

from harness.devices.cuda.hip import IS_HIP

_GRANULE = 2 * 2**20
_IPC_LAZY_ENABLE_PEER_ACCESS = 1
_OUT_OF_MEMORY = 2


class CudaRuntimeError(RuntimeError):
    """A call of the CUDA runtime failed."""


class _IpcHandle(ctypes.Structure):
    _fields_ = [("reserved", ctypes.c_char * 64)]


def allocate(nbytes: int) -> int:
    """Return the address of fresh device memory. Raises: MemoryError, CudaRuntimeError."""
    address = ctypes.c_void_p()
    size = -(-max(nbytes, 1) // _GRANULE) * _GRANULE
    malloc = functools.partial(_function("Malloc"), ctypes.byref(address), ctypes.c_size_t(size))
    code = malloc()
    if code == _OUT_OF_MEMORY:
        torch.cuda.empty_cache()
        code = malloc()
    if code == _OUT_OF_MEMORY:
        _function("GetLastError")()
        raise MemoryError(f"the GPU has no {size / 2**30:.1f} GiB left for a shared buffer")
    _require("Malloc", code)
    assert address.value is not None
    return address.value


def free(address: int) -> None:
    _call("Free", ctypes.c_void_p(address))


def ipc_token(address: int) -> str:
    """Return the handle under which another process opens the allocation, in hexadecimal."""
    handle = _IpcHandle()
    _call("IpcGetMemHandle", ctypes.byref(handle), ctypes.c_void_p(address))
    return bytes(handle).hex()


def open_ipc(token: str) -> int:
    """Open another process's allocation, and return its address in this process."""
    handle = _IpcHandle.from_buffer_copy(bytes.fromhex(token))
    address = ctypes.c_void_p()
    flags = ctypes.c_uint(_IPC_LAZY_ENABLE_PEER_ACCESS)
    _call("IpcOpenMemHandle", ctypes.byref(address), handle, flags)
    assert address.value is not None
    return address.value


def close_ipc(address: int) -> None:
    _call("IpcCloseMemHandle", ctypes.c_void_p(address))


def take_last_error() -> str | None:
    """Return the error of an earlier call that nobody has asked about, and forget it (cudaGetLastError).

    A failed launch leaves one behind and so do honest questions, as for an event that isn't ready: a launch of too many
    threads is the same 'invalid argument' as a pointer that the runtime doesn't know.
    """
    code = _function("GetLastError")()
    return _words_of(code) if code else None


def as_bytes(address: int, nbytes: int) -> torch.Tensor:
    """Make a one-dimensional uint8 CUDA tensor over foreign memory, which the caller keeps alive."""
    return torch.as_tensor(_DeviceArray(address, nbytes), device="cuda")


class _DeviceArray:
    """Memory as torch reads an array (CUDA array interface, version 3)."""

    def __init__(self, address: int, nbytes: int) -> None:
        self.__cuda_array_interface__ = {
            "shape": (nbytes,),
            "typestr": "|u1",
            "data": (address, False),
            "version": 3,
        }


def _call(name: str, *arguments: object) -> None:
    _require(name, _function(name)(*arguments))


def _require(name: str, code: int) -> None:
    """Check a call's code, which the runtime then forgets. Raises: CudaRuntimeError."""
    if code:
        reason = _words_of(code)
        _function("GetLastError")()
        raise CudaRuntimeError(f"{name}: {reason} (error {code})")


def _words_of(code: int) -> str:
    told = _function("GetErrorString")
    told.restype = ctypes.c_char_p
    return str(told(code).decode())


def _function(name: str) -> Any:
    """Return a function of the runtime by its name without `cuda` or `hip`."""
    return getattr(runtime_library(), f"{'hip' if IS_HIP else 'cuda'}{name}")


@functools.cache
def runtime_library() -> ctypes.CDLL:
    """Open the very libcudart, or libamdhip64, that torch has loaded; a second one would be a second runtime."""
    torch.cuda.init()  # type: ignore[no-untyped-call]
    name = "libamdhip64" if IS_HIP else "libcudart"
    for line in Path("/proc/self/maps").read_text().splitlines():
        if match := re.search(rf"(/\S*{name}[^/\s]*\.so[^/\s]*)$", line):
            return ctypes.CDLL(match.group(1))
    raise CudaRuntimeError(f"torch has loaded no {name}; is it built for this GPU?")
