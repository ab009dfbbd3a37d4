"""Clocks, copies and fills of the device for a worker, by functions of the driver that are looked up once, before any
code of a solution runs: what the solution puts in the place of torch's or the CUDA runtime's functions doesn't reach
them. (The driver's own code in memory can still be written over; worker/guard.py looks at that, and the referee's own
clock at what comes of it.)
"""

from __future__ import annotations

import ctypes
import functools
import time
from collections.abc import Callable
from pathlib import Path

import torch

from harness.devices.cuda.hip import DRIVER_NAMES, IS_HIP, architecture, compile_kernels, compiler_beside
from harness.devices.cuda.runtime import runtime_library

_KERNELS = Path(__file__).parent / "kernels"
_Function = Callable[..., int]
_NOT_READY = 600  # CUDA_ERROR_NOT_READY, cuda.h

clock_ns = time.perf_counter_ns
_current_stream: Callable[[int], int] = getattr(torch._C, "_cuda_getCurrentRawStream", lambda device: 0)


class DeviceFault(RuntimeError):
    """The device reported an error; worded as torch words it."""


class Meter:
    """Events, copies and fills on one stream after another, in torch's CUDA context."""

    def __init__(self) -> None:
        torch.zeros(1, device="cuda")  # now there is that context, and it is this thread's
        self._driver = runtime_library() if IS_HIP else ctypes.CDLL("libcuda.so.1")
        find = self._function
        self._record = find("cuEventRecord")
        self._await_event = find("cuEventSynchronize")
        self._query = find("cuEventQuery")
        self._elapsed = find("cuEventElapsedTime_v2", "cuEventElapsedTime")
        self._await_device = find("cuCtxSynchronize")
        self._copy = find("cuMemcpyDtoDAsync_v2")
        self._fill = find("cuMemsetD8Async")
        self._error_string = find("cuGetErrorString")
        self._load_module = find("cuModuleLoadData")
        self._get_function = find("cuModuleGetFunction")
        self._launch = find("cuLaunchKernel")
        self._create_event = find("cuEventCreate")
        self._set_context = find("cuCtxSetCurrent")
        self._allocate_host = find("cuMemHostAlloc")
        self._reset_persisting = None if IS_HIP else find("cuCtxResetPersistingL2Cache")
        self._context = ctypes.c_void_p()
        self.check(find("cuCtxGetCurrent")(ctypes.byref(self._context)))
        self._start, self._end, self._stored = (self._event() for _ in range(3))
        self._milliseconds = ctypes.c_float()

    def stream(self) -> int:
        """Return torch's current stream, where the call's work is expected; the thread is back in torch's context."""
        self.check(self._set_context(self._context))
        return _current_stream(0)

    def record_start(self, stream: int) -> None:
        self.check(self._record(self._start, ctypes.c_void_p(stream)))

    def record_end(self, stream: int) -> None:
        self.check(self._record(self._end, ctypes.c_void_p(stream)))

    def has_started(self) -> bool:
        """Tell whether the device has passed the start."""
        code = self._query(self._start)
        if code != _NOT_READY:
            self.check(code)
        return code != _NOT_READY

    def forget_persisting(self) -> None:
        """Make lines of the L2 cache ordinary ones that a solution has set aside for itself."""
        if self._reset_persisting is not None:
            self.check(self._reset_persisting())

    def await_stored(self, stream: int) -> None:
        """Wait until the stream has done what has been asked of it so far."""
        self.check(self._record(self._stored, ctypes.c_void_p(stream)))
        self.check(self._await_event(self._stored))

    def elapsed_ns(self) -> int:
        """Return the time from start to end, once both have passed."""
        self.check(self._elapsed(ctypes.byref(self._milliseconds), self._start, self._end))
        return max(1, round(self._milliseconds.value * 1e6))

    def await_idle(self) -> int:
        """Wait until nothing runs on the device for this process; return how long that took, in ns."""
        started = clock_ns()
        self.check(self._await_device())
        return clock_ns() - started

    def copy(self, destination: int, source: int, nbytes: int, stream: int) -> None:
        self.check(
            self._copy(
                ctypes.c_uint64(destination), ctypes.c_uint64(source), ctypes.c_size_t(nbytes), ctypes.c_void_p(stream)
            )
        )

    def fill(self, address: int, value: int, nbytes: int, stream: int) -> None:
        self.check(
            self._fill(
                ctypes.c_uint64(address), ctypes.c_ubyte(value), ctypes.c_size_t(nbytes), ctypes.c_void_p(stream)
            )
        )

    def host_number(self) -> ctypes.c_uint32:
        """Return a zero in memory of the host that kernels can write (at the same address, by unified addressing)."""
        address = ctypes.c_void_p()
        self.check(self._allocate_host(ctypes.byref(address), ctypes.c_size_t(ctypes.sizeof(ctypes.c_uint32)), 0))
        assert address.value is not None
        number = ctypes.c_uint32.from_address(address.value)
        number.value = 0
        return number

    def kernel(self, file: str, name: str) -> ctypes.c_void_p:
        """Load a kernel of ours from a file of kernels/."""
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        self.check(self._load_module(ctypes.byref(module), _code_of(file)))
        self.check(self._get_function(ctypes.byref(function), module, name.encode()))
        return function

    def launch(
        self,
        function: ctypes.c_void_p,
        blocks: int,
        threads: int,
        arguments: ctypes.Array[ctypes.c_void_p],
        stream: int,
    ) -> None:
        size = (blocks, 1, 1, threads, 1, 1, 0)
        self.check(self._launch(function, *size, ctypes.c_void_p(stream), arguments, None))

    def check(self, code: int) -> None:
        """Check a call's code. Raises: DeviceFault."""
        if code == 0:
            return
        text = ctypes.c_char_p()
        self._error_string(code, ctypes.byref(text))
        raise DeviceFault(f"CUDA error: {(text.value or b'unknown').decode()}")

    def _event(self) -> ctypes.c_void_p:
        event = ctypes.c_void_p()
        self.check(self._create_event(ctypes.byref(event), 0))
        return event

    def _function(self, *names: str) -> _Function:
        """Look up the first of these names that this driver knows."""
        for name in names:
            if found := getattr(self._driver, DRIVER_NAMES.get(name, name) if IS_HIP else name, None):
                return found  # type: ignore[no-any-return]
        raise RuntimeError(f"this driver has no {names[-1]}; update it")


@functools.cache
def _code_of(file: str) -> bytes:
    """Return kernels of ours as PTX, which the driver compiles, or as code of AMD's."""
    if IS_HIP:
        return compile_kernels(_KERNELS / f"{file}.cu", architecture(), compiler_beside(runtime_library()._name))
    return (_KERNELS / f"{file}.ptx").read_bytes() + b"\0"
