"""Every kernel, copy and fill that the device runs, as CUPTI's activity records show it. Among them are the marks of
the worker's device itself: kernels of ours and a fill of a peculiar size show where each call began and ended.

CUPTI instead of torch.profiler: nothing of torch that a solution could replace lies between, and the first use is
cheaper. Of each record only the first fields are read: they have stood where they stand since CUDA 11.0 (CUPTI 13.0's
cupti_activity.h and its cupti_activity_deprecated.h, records Kernel4 to Kernel10, Memcpy to Memcpy6, Memset to
Memset4), and an unknown version gives no trace.
"""

from __future__ import annotations

import ctypes
import dataclasses
import os
import re
import struct
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Literal

from harness.sandbox.wire.device import KernelRun

END_BYTES = 5009
"""The size of a fill just behind what is timed: a prime, which hardly anybody fills."""

END = f"fill of {END_BYTES} bytes"
LEAD_IN, EVICT = "harness_lead_in", "harness_evict"
"""The call begins when the former ends."""
STRIDED_COPY = "harness_strided_copy"
_NAME_CHARS = 2000
"""The most of a row's name, which the compiler makes of all template arguments: torch's have up to some hundreds."""
_ROW_CHARS = 150
"""The characters that a row's numbers take as JSON."""

_KINDS = {"copy": 1, "fill": 2, "kernel": 10}  # CUPTI_ACTIVITY_KIND_MEMCPY, _MEMSET, _CONCURRENT_KERNEL
_BUFFER_BYTES = 4 * 2**20
_ALIGNMENT = 8
_MOST_ROWS = 200_000
"""Rows that are kept of one turn, marks apart: a solution could launch without end."""
_MARKS = frozenset({LEAD_IN, END})
_COMPLETE, _FORCED = 0, 1  # without and with CUPTI_ACTIVITY_FLAG_FLUSH_FORCED

_TIMES = struct.Struct("<QQ")  # start, end: bytes 16 to 32 of all three
_KERNEL_STREAM, _KERNEL_NAME = 48, 104
_MOVE_STREAM, _MOVE_BYTES = 40, 8

_ANOTHER_CLOCK_NS = 1_000_000_000
"""CUPTI takes times from the system's clock (cupti_activity.h) if nobody has given it another."""
_SYSTEM_CLOCK = "_ZNSt6chrono3_V212system_clock3nowEv"  # std::chrono::system_clock::now(): uint64_t (*)(), in ns

_Requested = ctypes.CFUNCTYPE(
    None, ctypes.POINTER(ctypes.c_void_p), ctypes.POINTER(ctypes.c_size_t), ctypes.POINTER(ctypes.c_size_t)
)
_Completed = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t)


class Tracer:
    """Records what the device runs between start() and take(). None of it costs anything before the first start()."""

    def __init__(self, library: ctypes.CDLL) -> None:
        """Take `library` as open_cupti() gives it, and look its functions up before any code of a solution runs."""
        self._register, self._register_clock, self._timestamp, self._enable, self._disable, self._flush, self._next = (
            getattr(library, name)
            for name in (
                "cuptiActivityRegisterCallbacks",
                "cuptiActivityRegisterTimestampCallback",
                "cuptiGetTimestamp",
                "cuptiActivityEnable",
                "cuptiActivityDisable",
                "cuptiActivityFlushAll",
                "cuptiActivityGetNextRecord",
            )
        )
        self._callbacks = (_Requested(self._request), _Completed(self._complete))  # CUPTI keeps pointers to them
        self._clock = _system_clock()
        self._buffers: dict[int, ctypes.Array[ctypes.c_char]] = {}
        self._rows: list[KernelRun] = []

    def start(self) -> bool:
        """Return whether it records from now on. torch.profiler, with which a solution may have chosen among its
        kernels, has left callbacks and a clock of its own with CUPTI, which keeps the last of each."""
        is_registered = self._register(*self._callbacks) == 0
        self._put_the_clock_right()
        self._flush(_COMPLETE)  # buffers of others, whole by now, come here
        self._rows = []
        return is_registered and all(self._enable(kind) == 0 for kind in _KINDS.values())

    def take(self) -> tuple[KernelRun, ...]:
        """Return what has run since start(), in the order of beginning. The device must be idle."""
        self._flush(_FORCED)
        for kind in _KINDS.values():
            self._disable(kind)
        rows, self._rows = self._rows, []
        return tuple(sorted(rows, key=lambda row: (row.start_ns, row.end_ns)))

    def _put_the_clock_right(self) -> None:
        """Have CUPTI use the system's clock again: Kineto has it count the processor's ticks, and leaves it at that."""
        now = ctypes.c_uint64()
        if (
            self._timestamp(ctypes.byref(now)) == 0
            and abs(now.value - time.time_ns()) > _ANOTHER_CLOCK_NS
            and self._clock
        ):
            self._register_clock(self._clock)

    def _request(self, buffer: ctypes._Pointer, size: ctypes._Pointer, most_records: ctypes._Pointer) -> None:  # type: ignore[type-arg]
        memory = ctypes.create_string_buffer(_BUFFER_BYTES + _ALIGNMENT)
        address = -(-ctypes.addressof(memory) // _ALIGNMENT) * _ALIGNMENT
        self._buffers[address] = memory
        buffer[0] = ctypes.c_void_p(address)
        size[0] = ctypes.c_size_t(_BUFFER_BYTES)
        most_records[0] = ctypes.c_size_t(0)

    def _complete(self, context: int, stream: int, buffer: int, size: int, used: int) -> None:
        try:
            for row in self._records(buffer, used):
                if len(self._rows) < _MOST_ROWS or row.name in _MARKS:
                    self._rows.append(row)
        finally:
            self._buffers.pop(buffer, None)

    def _records(self, buffer: int, used: int) -> Iterator[KernelRun]:
        record = ctypes.c_void_p()
        while used and self._next(ctypes.c_void_p(buffer), ctypes.c_size_t(used), ctypes.byref(record)) == 0:
            assert record.value is not None
            if row := _row(record.value):
                yield row


def bounded(rows: Sequence[KernelRun], most_chars: int) -> tuple[KernelRun, ...]:
    """Leave out rows, in order of time, that ran inside a call once the names add up to `most_chars`. Marks and what no
    call accounts for always stay. Names are cut, or a few kernels with endless ones would leave out all that follow."""
    kept, chars, is_inside = [], 0, False
    for row in (dataclasses.replace(row, name=row.name[:_NAME_CHARS]) for row in rows):
        is_inside = row.name != END and (is_inside or row.name == LEAD_IN)
        chars += len(row.name) + _ROW_CHARS
        if chars <= most_chars or not is_inside or row.name == LEAD_IN:
            kept.append(row)
    return tuple(kept)


def open_cupti() -> ctypes.CDLL | None:
    """Open the CUPTI that torch brings along, else the toolkit's; None if none of a known version is there."""
    for path in _candidates():
        try:
            library = ctypes.CDLL(path)
        except OSError:
            continue
        version = ctypes.c_uint32()
        if library.cuptiGetVersion(ctypes.byref(version)) == 0 and _is_known(version.value):
            return library
    return None


def _system_clock() -> Callable[..., int] | None:
    """Find a native clock: CUPTI calls it in threads of its own, where Python's lock could be waited for."""
    try:
        return getattr(ctypes.CDLL("libstdc++.so.6"), _SYSTEM_CLOCK, None)
    except OSError:
        return None


def _is_known(version: int) -> bool:
    """Tell known versions: 18 to 28 are CUDA 11.8 to 12.9, 13xxyy is CUDA 13 (cupti_version.h)."""
    return 18 <= version <= 28 or 130_000 <= version < 140_000


def _candidates() -> Iterator[str]:
    for line in Path("/proc/self/maps").read_text().splitlines():
        if match := re.search(r"(/\S*libcupti\.so[^/\s]*)$", line):
            yield match[1]
            return
    home = Path(os.environ.get("CUDA_HOME") or os.environ.get("CUDA_PATH") or "/usr/local/cuda")
    for folder in ("extras/CUPTI/lib64", "lib64", "lib"):
        yield from map(str, sorted((home / folder).glob("libcupti.so*")))


def _row(address: int) -> KernelRun | None:
    (kind,) = struct.unpack("<I", ctypes.string_at(address, 4))
    if kind not in _KINDS.values():
        return None
    start, end = _TIMES.unpack(ctypes.string_at(address + 16, 16))
    if kind == _KINDS["kernel"]:
        name = ctypes.c_char_p.from_address(address + _KERNEL_NAME).value or b"?"
        stream = ctypes.c_uint32.from_address(address + _KERNEL_STREAM).value
        return KernelRun(name.decode(errors="replace"), start, end, stream, "kernel")
    stream = ctypes.c_uint32.from_address(address + _MOVE_STREAM).value
    size = ctypes.c_uint64.from_address(address + _MOVE_BYTES).value
    move: Literal["copy", "fill"] = "copy" if kind == _KINDS["copy"] else "fill"
    return KernelRun(f"{move} of {size} bytes", start, end, stream, move)
