"""What runs on the stream before a timed call: memory traffic that wakes the GPU up, reads that clear the L2 cache, a
delay during which the call's launches are queued."""

from __future__ import annotations

import ctypes
from pathlib import Path

import torch

from harness.backends.cuda.markers import DELAY, EVICT
from harness.backends.cuda.meter import Meter

_PTX = Path(__file__).parent / "kernels" / "around_a_call.ptx"
_LEAST_BYTES = 256 * 2**20
_TIMES_CACHE = 4
"""Read so many times the cache's size: lines are not replaced strictly in the order of their use."""
_THREADS, _BLOCKS_PER_SM = 256, 4
_LOAD_BYTES = 16


class LeadIn:
    """Kernels of ours on whichever stream. Holds the memory that is read."""

    def __init__(self, meter: Meter) -> None:
        properties = torch.cuda.get_device_properties(0)
        nbytes = max(_LEAST_BYTES, _TIMES_CACHE * int(getattr(properties, "L2_cache_size", 0)))
        self._memory = torch.zeros(nbytes, dtype=torch.uint8, device="cuda")
        self._sink = torch.zeros(1, dtype=torch.int32, device="cuda")
        self._blocks = _BLOCKS_PER_SM * properties.multi_processor_count
        self._address, self._sink_address = self._memory.data_ptr(), self._sink.data_ptr()
        self._loads = nbytes // _LOAD_BYTES
        self._meter = meter
        ptx = _PTX.read_bytes() + b"\0"
        self._evict = meter.kernel(ptx, EVICT.encode())
        self._delay = meter.kernel(ptx, DELAY.encode())
        self._nothing = meter.kernel(ptx, b"harness_nothing")

    def mark(self, nbytes: int, stream: int) -> None:
        """A fill of a peculiar size."""
        self._meter.fill(self._address, 0, nbytes, stream)

    def evict(self, stream: int, at_least_ns: int = 0) -> None:
        """Read memory until nothing of what was there is left in the L2 cache, and for so long. Reading leaves no dirty
        lines, whose writing back would fall into the call."""
        arguments = _pointers(
            ctypes.c_uint64(self._address),
            ctypes.c_uint64(self._loads),
            ctypes.c_uint64(at_least_ns),
            ctypes.c_uint64(self._sink_address),
        )
        self._meter.launch(self._evict, self._blocks, _THREADS, arguments, stream)

    def delay(self, nanoseconds: int, stream: int) -> None:
        self._meter.launch(self._delay, 1, 1, _pointers(ctypes.c_uint64(nanoseconds)), stream)

    def nothing(self, stream: int) -> None:
        """An empty kernel."""
        self._meter.launch(self._nothing, 1, 1, _pointers(), stream)


def _pointers(*values: ctypes.c_uint64) -> ctypes.Array[ctypes.c_void_p]:
    """A launch's arguments. cuLaunchKernel copies what they point to before it returns; until then the array's own
    `kept` holds them."""
    array = (ctypes.c_void_p * max(1, len(values)))(*(ctypes.addressof(value) for value in values))
    array.kept = values  # type: ignore[attr-defined]
    return array
