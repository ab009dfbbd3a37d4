"""The few calls of the CUDA runtime that torch doesn't expose: memory that can be shared between processes.

Shared buffers are allocations of their own, never pieces of torch's cache: a cudaIpcMemHandle_t opens the whole
allocation behind it, and with it whatever else lies there. For the same reason sizes are rounded up to 2 MiB, the
granularity at which the driver divides allocations (CUDA Programming Guide, Interprocess Communication).
"""

from __future__ import annotations

import ctypes
import functools
import re
from pathlib import Path

import torch

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
    code = _library().cudaMalloc(ctypes.byref(address), ctypes.c_size_t(size))
    if code == _OUT_OF_MEMORY:
        torch.cuda.empty_cache()
        code = _library().cudaMalloc(ctypes.byref(address), ctypes.c_size_t(size))
    if code == _OUT_OF_MEMORY:
        _library().cudaGetLastError()
        raise MemoryError(f"the GPU has no {size / 2**30:.1f} GiB left for a shared buffer")
    _check(code, "cudaMalloc")
    assert address.value is not None
    return address.value


def free(address: int) -> None:
    _check(_library().cudaFree(ctypes.c_void_p(address)), "cudaFree")


def ipc_token(address: int) -> str:
    """Return the handle under which another process opens the allocation, in hexadecimal."""
    handle = _IpcHandle()
    _check(_library().cudaIpcGetMemHandle(ctypes.byref(handle), ctypes.c_void_p(address)), "cudaIpcGetMemHandle")
    return bytes(handle).hex()


def open_ipc(token: str) -> int:
    """Open another process's allocation, and return its address in this process."""
    handle = _IpcHandle.from_buffer_copy(bytes.fromhex(token))
    address = ctypes.c_void_p()
    flags = ctypes.c_uint(_IPC_LAZY_ENABLE_PEER_ACCESS)
    _check(_library().cudaIpcOpenMemHandle(ctypes.byref(address), handle, flags), "cudaIpcOpenMemHandle")
    assert address.value is not None
    return address.value


def close_ipc(address: int) -> None:
    _check(_library().cudaIpcCloseMemHandle(ctypes.c_void_p(address)), "cudaIpcCloseMemHandle")


def take_last_error() -> str | None:
    """Return the error of an earlier call that nobody has asked about, and forget it (cudaGetLastError).

    A failed launch leaves one behind and so do honest questions, as for an event that isn't ready: a launch of too many
    threads is the same 'invalid argument' as a pointer that the runtime doesn't know.
    """
    library = _library()
    code = library.cudaGetLastError()
    if code == 0:
        return None
    library.cudaGetErrorString.restype = ctypes.c_char_p
    return str(library.cudaGetErrorString(code).decode())


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


def _check(code: int, call: str) -> None:
    if code != 0:
        library = _library()
        library.cudaGetErrorString.restype = ctypes.c_char_p
        reason = library.cudaGetErrorString(code).decode()
        library.cudaGetLastError()
        raise CudaRuntimeError(f"{call}: {reason} (error {code})")


@functools.cache
def _library() -> ctypes.CDLL:
    """Open the very libcudart that torch has loaded; a second one would be a second runtime."""
    torch.cuda.init()  # type: ignore[no-untyped-call]
    for line in Path("/proc/self/maps").read_text().splitlines():
        if match := re.search(r"(/\S*libcudart[^/\s]*\.so[^/\s]*)$", line):
            return ctypes.CDLL(match.group(1))
    raise CudaRuntimeError("torch has loaded no libcudart; is this a CUDA build of torch?")
