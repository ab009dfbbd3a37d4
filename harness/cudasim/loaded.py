"""The runtime, loaded into this process, which from then on has a CUDA device."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from harness.cudasim.compiler import find_torch
from harness.cudasim.toolkit import Toolkit

_FIRST_OF_TORCH = "libc10.so"
_TORCH_LIBRARIES = ("libtorch_global_deps.so", "libtorch_cpu.so")


def load_runtime(toolkit: Toolkit) -> Runtime:
    """Make this process see one CUDA device. Must come before `import torch`, which looks for devices once.

    Raises RuntimeError if torch is already imported, SimUnavailable if this torch is not one that can be simulated.
    """
    if "torch" in sys.modules:
        raise RuntimeError("the simulator must be activated before torch is imported in this process")
    torch_libraries = find_torch().libraries
    _load(torch_libraries / _FIRST_OF_TORCH)  # and with it the C++ library that torch is built for
    library = _load(toolkit.runtime)
    # Before torch's own, which take them for the ones that they are linked to.
    for stand_in in toolkit.stand_ins():
        _load(stand_in)
    for name in _TORCH_LIBRARIES:
        _load(torch_libraries / name)
    _load(toolkit.fake_device)
    os.environ.update(toolkit.environment())

    import torch

    from harness.cudasim.torch_cuda import patch_torch

    library.sim_torch_is_loaded()
    library.sim_check(int(toolkit.is_checked))
    runtime = Runtime(library)
    patch_torch(runtime)

    import torch.utils.cpp_extension  # says that there is no device, where it finds none

    torch.utils.cpp_extension.CUDA_HOME = str(toolkit.root)
    return runtime


def _load(library: Path) -> ctypes.CDLL:
    return ctypes.CDLL(str(library), mode=ctypes.RTLD_GLOBAL)


class Runtime:
    """The loaded runtime; one per process, from load_runtime()."""

    def __init__(self, library: ctypes.CDLL) -> None:
        # Each is looked up here, before any code of a kernel's author runs: a library's names can be given anew.
        self._report = _function(library, "take_report", ctypes.c_char_p)
        self._error_string = _function(library, "error_string", ctypes.c_char_p, ctypes.c_int)
        self._synchronize = _function(library, "synchronize", ctypes.c_int)
        self._reset_errors = _function(library, "reset_errors", None)
        self._sample_blocks = _function(library, "sample_blocks", None, ctypes.c_long, ctypes.c_ulong)
        self._limit_work = _function(library, "limit_work", None, ctypes.c_double)
        self._trace = _function(library, "trace", None, ctypes.c_int)
        self._mark_written = _function(library, "mark_written", None, ctypes.c_void_p, ctypes.c_size_t)
        self._next_place = _function(library, "next_place", ctypes.c_int64)
        self._note_gap = _function(library, "note_gap", None, ctypes.c_char_p)
        self._note_stream = _function(library, "note_stream", None, ctypes.c_char_p)
        self._begin_capture = _function(library, "begin_capture", None)
        self._end_capture = _function(library, "end_capture", ctypes.c_int)
        self._captured = _function(library, "captured", ctypes.c_int64)
        self._current_stream = _function(library, "current_stream", ctypes.c_void_p)

    def synchronize(self) -> None:
        """Raise RuntimeError, worded as torch words it, once a kernel has faulted, or while a graph is captured."""
        self._require(self._synchronize())

    def _require(self, error: int) -> None:
        if error:
            raise RuntimeError(f"CUDA error: {self._error_string(error).decode()}")

    def begin_capture(self) -> None:
        """Keep from now on what extensions launch and copy on torch's current stream, instead of running it."""
        self._begin_capture()

    def end_capture(self) -> None:
        """End the capture. Raises RuntimeError if it was spoilt by what a capture doesn't allow."""
        self._require(self._end_capture())

    def captured(self) -> int:
        """Return how much work all captures have kept, by which `torch.ops.harness_sim.replay` finds it."""
        return int(self._captured())

    @staticmethod
    def is_captured(launch: Callable[[], object]) -> bool:
        """Have the graph that is captured, if one is, keep the launch of a kernel that others run."""
        from harness.cudasim.graphs import is_kept

        return is_kept(launch)

    def current_stream(self) -> int:
        """Return the handle of torch's current stream, which is 0, the default one's, unless a graph is captured."""
        return self._current_stream() or 0

    def reset_errors(self) -> None:
        """Forget a fault, as a new process would."""
        self._reset_errors()

    def limit_launches(self, count: int | None, seed: int, seconds: float | None) -> None:
        """Run the first, the last and `count` - 2 random blocks of each launch; all of them for None, none for 0. Where
        all run, any seed but 0 has the threads of each block begin with the last one. Give up launches that would take
        longer together; None for any time."""
        self._sample_blocks(-1 if count is None else count, seed)
        self._limit_work(seconds or 0.0)

    def trace(self, is_on: bool) -> None:
        """Count from now on what runs, for the report, or stop."""
        self._trace(int(is_on))

    def next_place(self) -> int:
        """Take the next place among all kernels and operators that ran, for a kernel that others run."""
        return int(self._next_place())

    def note_gap(self, construct: str) -> None:
        """Report what can't be simulated and is refused: a solution may catch the exception and go on without it."""
        self._note_gap(construct.encode())

    def note_stream(self, made_by: str) -> None:
        """Report work on a stream of its own, which is done here before the next begins."""
        self._note_stream(made_by.encode())

    def mark_written(self, address: int, nbytes: int) -> None:
        """Note for the checked build that the host wrote there."""
        self._mark_written(address, nbytes)

    def take_report(self) -> str:
        """Return what was seen since the last report, as JSON: `findings`, `launches`, `ran` (names with counts and
        elements, None without a trace), `sources` (texts by file), and `totals` of the process."""
        return str(self._report().decode(errors="replace"))


def _function(library: ctypes.CDLL, name: str, returned: type | None, *arguments: type) -> Callable[..., Any]:
    function = getattr(library, f"sim_{name}")
    function.restype, function.argtypes = returned, arguments
    return function  # type: ignore[no-any-return]
