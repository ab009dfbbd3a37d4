"""Recording through CUPTI, of which a process has one: the callbacks and the clock may be another profiler's."""

from __future__ import annotations

import ctypes
import struct
import time
from types import SimpleNamespace
from typing import Any

import pytest

from harness.devices.cuda.tracer import Tracer
from harness.sandbox.wire.device import KernelRun

FILL_BYTES = 48


def fill_record(start_ns: int, nbytes: int) -> bytes:
    """The first fields of a CUpti_ActivityMemset4."""
    return struct.pack("<IIQQQIIII", 2, 0, nbytes, start_ns, start_ns + 5, 0, 0, 7, 0)


class Cupti:
    """Asks whoever has registered last for a buffer, and gives it back when it is flushed."""

    def __init__(self) -> None:
        self.callbacks: Any = None
        self.clock: Any = None
        self.enabled: set[int] = set()
        self.filled: list[tuple[Any, int]] = []
        self.library: Any = SimpleNamespace(
            cuptiActivityRegisterCallbacks=self.register,
            cuptiActivityRegisterTimestampCallback=self.register_clock,
            cuptiGetTimestamp=self.tell_time,
            cuptiActivityEnable=lambda kind: self.enabled.add(kind) or 0,
            cuptiActivityDisable=lambda kind: self.enabled.discard(kind) or 0,
            cuptiActivityFlushAll=self.flush,
            cuptiActivityGetNextRecord=self.next,
        )

    def register(self, requested: Any, completed: Any) -> int:
        self.callbacks = requested, completed
        return 0

    def register_clock(self, clock: Any) -> int:
        clock.restype = ctypes.c_uint64
        self.clock = clock
        return 0

    def tell_time(self, now: Any) -> int:
        now._obj.value = self.clock() if self.clock else time.time_ns()
        return 0

    def runs(self, *records: bytes) -> None:
        if not self.enabled:
            return
        buffer, size, most = ctypes.c_void_p(), ctypes.c_size_t(), ctypes.c_size_t(9)
        self.callbacks[0](ctypes.pointer(buffer), ctypes.pointer(size), ctypes.pointer(most))
        assert buffer.value is not None
        assert (buffer.value % 8, size.value >= 2**20, most.value) == (0, True, 0)
        ctypes.memmove(buffer.value, b"".join(records), FILL_BYTES * len(records))
        self.filled.append((buffer, FILL_BYTES * len(records)))

    def flush(self, flag: int) -> int:
        while self.filled:
            buffer, used = self.filled.pop()
            self.callbacks[1](None, 0, buffer, 2**22, used)
        return 0

    def next(self, buffer: Any, used: Any, record: Any) -> int:
        at = record._obj
        at.value = buffer.value if at.value is None else at.value + FILL_BYTES
        return 0 if at.value < buffer.value + used.value else 12


class Other:
    """Another profiler, as Kineto is: it keeps its buffers until they come back."""

    def __init__(self, cupti: Cupti) -> None:
        self.memory = ctypes.create_string_buffer(2**20)
        self.completed: list[int] = []
        self.callbacks = (self.request, lambda context, stream, buffer, size, used: self.completed.append(used))
        cupti.register(*self.callbacks)
        cupti.register_clock(ctypes.CFUNCTYPE(ctypes.c_uint64)(lambda: 42))

    def request(self, buffer: Any, size: Any, most_records: Any) -> None:
        buffer[0], size[0], most_records[0] = ctypes.c_void_p(-(-ctypes.addressof(self.memory) // 8) * 8), 2**20, 0


def fill(start_ns: int, nbytes: int) -> KernelRun:
    return KernelRun(f"fill of {nbytes} bytes", start_ns, start_ns + 5, 7, "fill")


@pytest.fixture
def cupti() -> Cupti:
    return Cupti()


def test_what_runs_is_recorded_in_the_order_of_beginning(cupti: Cupti) -> None:
    tracer = Tracer(cupti.library)
    cupti.runs(fill_record(1, 10))  # before anybody asked
    assert tracer.start()
    cupti.runs(fill_record(30, 10), fill_record(20, 11))
    assert tracer.take() == (fill(20, 11), fill(30, 10))
    assert cupti.enabled == set()
    assert tracer._buffers == {}


def test_a_trace_is_whole_after_another_profiler(cupti: Cupti) -> None:
    tracer = Tracer(cupti.library)
    assert tracer.start()
    tracer.take()
    other = Other(cupti)
    assert tracer.start()
    cupti.runs(fill_record(20, 11))
    assert tracer.take() == (fill(20, 11),)
    assert other.completed == []


def test_times_are_the_systems_again_after_another_profiler(cupti: Cupti) -> None:
    tracer = Tracer(cupti.library)
    tracer.start()
    assert cupti.clock is None  # left alone where nobody has given it another
    Other(cupti)
    assert cupti.clock() == 42
    tracer.start()
    assert abs(cupti.clock() - time.time_ns()) < 1_000_000_000


def test_what_another_profiler_left_is_no_part_of_a_trace(cupti: Cupti) -> None:
    tracer, other = Tracer(cupti.library), Other(cupti)
    cupti.enabled.add(2)
    cupti.runs(fill_record(5, 10))
    assert tracer.start()
    cupti.runs(fill_record(20, 11))
    assert tracer.take() == (fill(20, 11),)
    assert other.completed == []


def test_a_buffer_that_another_profiler_is_given_stays_alive(cupti: Cupti) -> None:
    tracer = Tracer(cupti.library)
    tracer.start()
    cupti.runs(fill_record(5, 10))
    other = Other(cupti)
    cupti.flush(1)
    assert other.completed == [FILL_BYTES]
    assert len(tracer._buffers) == 1


def test_who_may_not_register_records_nothing(cupti: Cupti) -> None:
    cupti.library.cuptiActivityRegisterCallbacks = lambda *callbacks: 1
    assert not Tracer(cupti.library).start()
    assert cupti.enabled == set()
