"""The kernels before a timed call: reads that clear the L2 cache, and a hold during which the call's launches are
queued."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from os import urandom as _urandom

import torch

from harness.devices.cuda.meter import Meter, clock_ns
from harness.devices.cuda.tracer import END_BYTES, EVICT, LEAD_IN

_LEAST_BYTES = 256 * 2**20
_TIMES_CACHE = 4
"""The number of times that the cache's size is read: lines aren't replaced strictly in the order of their use."""
_THREADS = 256
_LOAD_BYTES = 16
_MOST_WAITING_NS = 2_000_000_000
"""The longest wait for the device: others may have it for a time slice."""


_PART_OF_CACHE = 32
"""1.6 MB of an H100's, of which a third is the copy on the way: written back within a call it is worth half a µs."""
_LEAST_KEPT = 2**18
_ALIGNED = 256

Extent = tuple[int, int]
"""An address on the device, and how many bytes."""
_WIDEST = 16
"""Bytes of the widest element, complex128."""


class LeadIn:
    """Kernels of ours on any stream, and the memory that they read."""

    def __init__(self, meter: Meter) -> None:
        properties = torch.cuda.get_device_properties(0)
        cache_bytes = int(getattr(properties, "L2_cache_size", 0))
        nbytes = max(_LEAST_BYTES, _TIMES_CACHE * cache_bytes)
        self._kept_bytes = max(_LEAST_KEPT, cache_bytes // _PART_OF_CACHE)
        self._nbytes = nbytes
        self._memory = torch.zeros(nbytes, dtype=torch.uint8, device="cuda")
        self._sink = torch.zeros(1, dtype=torch.int32, device="cuda")
        per_sm = int(getattr(properties, "max_threads_per_multi_processor", 2048)) // _THREADS
        self._blocks = per_sm * properties.multi_processor_count
        self._address, self._sink_address = self._memory.data_ptr(), self._sink.data_ptr()
        self._loads = nbytes // _LOAD_BYTES
        self._counts = torch.zeros(2, dtype=torch.int64, device="cuda")
        self._counts_address = self._counts.data_ptr()  # asked before any code of a solution runs
        self._here = meter.host_number()
        self._number = 0
        self._meter = meter
        self._lead_in, self._evict, self._nothing = (
            meter.kernel("around_a_call", name) for name in (LEAD_IN, EVICT, "harness_nothing")
        )

    def clear_cache(self, hold_ns: int, stream: int) -> bool:
        """Read memory until nothing of what was there is left in the L2 cache, and hold the device until `hold_ns`
        after the beginning. Returns whether it is known to be held.

        Reading leaves no dirty lines, whose writing back would fall into the call; and since all of the device is held,
        no other stream gets ahead of the clock.
        """
        return self._lead(self._loads, hold_ns, stream)

    def clear_idle(self, stream: int) -> bool:
        """Clear the cache, with the device idle a few µs later, as in a program that had nothing to do before. Work on
        a stream that nobody waits for can't be done then before the clock ends."""
        arguments = _pointers(*map(ctypes.c_uint64, (self._address, self._loads, self._sink_address)))
        self._meter.launch(self._evict, self._blocks, _THREADS, arguments, stream)
        self._meter.await_idle()
        return self.hold(0, stream)

    def hold(self, nanoseconds: int, stream: int) -> bool:
        """Hold the device as clear_cache() does, and leave the cache as it is."""
        return self._lead(0, nanoseconds, stream)

    def pieces(self, memory: Sequence[Extent]) -> list[Extent]:
        """Draw a piece of each: together they take so little of the L2 cache that it keeps what it holds. To know
        whether values were there before, a solution has to read all of them."""
        most = self._kept_bytes // max(1, len(memory)) // _ALIGNED * _ALIGNED
        return [_piece(address, nbytes, most) for address, nbytes in memory]

    def exchange_halves(self, memory: Sequence[Extent], stream: int) -> None:
        """Exchange the halves of the first bytes of each. The values are as good as the right ones, and nobody can tell
        them apart; a second exchange makes them right again. Single elements stay as they are.

        The memory that is read holds zeros afterwards, as in every other process: what it holds makes a difference to
        the power that reading takes.
        """
        share = self._nbytes // max(1, len(memory)) // _WIDEST * _WIDEST
        most_used = 0
        for address, nbytes in memory:
            most = min(nbytes, share)
            half = most // 2 // _WIDEST * _WIDEST
            if half:
                second = address + most - half
                self._meter.copy(self._address, address, half, stream)
                self._meter.copy(address, second, half, stream)
                self._meter.copy(second, self._address, half, stream)
                most_used = max(most_used, half)
        if most_used:
            self._meter.fill(self._address, 0, most_used, stream)

    def nothing(self, stream: int) -> None:
        """Launch an empty kernel."""
        self._meter.launch(self._nothing, 1, 1, _pointers(), stream)

    def mark_end(self, stream: int) -> None:
        """Mark the end of a call by a fill of a peculiar size."""
        self._meter.fill(self._address, 0, END_BYTES, stream)

    def _lead(self, loads: int, nanoseconds: int, stream: int) -> bool:
        self._number = (self._number + 1) % 2**32
        arguments = _pointers(
            *map(ctypes.c_uint64, (self._address, loads, nanoseconds, self._sink_address)),
            *map(ctypes.c_uint64, (self._counts_address, self._counts_address + 8, ctypes.addressof(self._here))),
            ctypes.c_uint32(self._number),
        )
        self._meter.launch(self._lead_in, self._blocks, _THREADS, arguments, stream)
        deadline_ns = clock_ns() + _MOST_WAITING_NS
        while self._here.value != self._number:
            if clock_ns() > deadline_ns:
                self._count_anew(stream)
                return False
        return True

    def _count_anew(self, stream: int) -> None:
        """Reset the count if it isn't what it must be: a kernel of the solution's has written over it, or the device is
        stuck."""
        self._meter.await_idle()
        self._meter.fill(self._counts_address, 0, 16, stream)
        self._here.value = self._number = 0


def _piece(address: int, nbytes: int, most: int) -> Extent:
    if nbytes <= most:
        return address, nbytes
    places = (nbytes - most) // _ALIGNED + 1
    return address + int.from_bytes(_urandom(8), "little") % places * _ALIGNED, most


def _pointers(*values: ctypes.c_uint64 | ctypes.c_uint32) -> ctypes.Array[ctypes.c_void_p]:
    """Make a launch's arguments. cuLaunchKernel copies what they point to before it returns; until then the array's own
    `kept` holds them."""
    array = (ctypes.c_void_p * max(1, len(values)))(*(ctypes.addressof(value) for value in values))
    array.kept = values  # type: ignore[attr-defined]
    return array
