"""The rates of the GPU's memory, in bytes per second, as large plain tensors are read, written and copied."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from harness.referee.ceilings.best_time import best_seconds

_GIB = 2**30
_MOST_BYTES = 4 * _GIB
_MOST_CACHED_BYTES = 8 * 2**20
"""Twice that fits into one half of an H100's L2 cache: what lies in the other half takes longer."""
_CACHED_COPIES = 50


@dataclass(frozen=True)
class MemoryRates:
    copy_bytes_per_s: float
    read_bytes_per_s: float
    write_bytes_per_s: float


def measure_memory() -> MemoryRates:
    """Over buffers far larger than any cache: 4 GiB, or less where memory is short, but 1 GiB at least.

    Raises: torch.OutOfMemoryError.
    """
    nbytes = _buffer_bytes()
    source = torch.rand(nbytes // 4, device="cuda")  # a bus that carries zeros alone would show another machine
    target = torch.zeros_like(source)
    copies = (lambda: target.copy_(source), lambda: torch.add(source, 1.0, out=target))
    reads = (lambda: torch.sum(source), lambda: torch.amax(source))
    writes = (lambda: target.fill_(1.0), target.zero_)
    return MemoryRates(
        copy_bytes_per_s=2 * nbytes / min(map(best_seconds, copies)),
        read_bytes_per_s=nbytes / min(map(best_seconds, reads)),
        write_bytes_per_s=nbytes / min(map(best_seconds, writes)),
    )


def _buffer_bytes() -> int:
    """Two of them fit beside what workers hold."""
    free, _ = torch.cuda.mem_get_info()
    nbytes = _MOST_BYTES
    while nbytes > _GIB and 2 * nbytes > free * 0.9:
        nbytes //= 2
    return nbytes


def measure_cache_copy(cache_bytes: int) -> float:
    """A copy within an L2 cache of this size, bytes read and written. As one graph: launched one by one, such short
    copies would wait for the host."""
    nbytes = min(_MOST_CACHED_BYTES, max(2**20, cache_bytes // 4))
    source = torch.randint(256, (nbytes,), dtype=torch.uint8, device="cuda")
    target = torch.zeros_like(source)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(_CACHED_COPIES):
            target.copy_(source)
    return 2 * nbytes * _CACHED_COPIES / best_seconds(graph.replay)


def theoretical_bytes_per_s(properties: Any, seen_mhz: int | None = None) -> float | None:
    """The memory's clock times the width of its bus, two transfers a clock. `properties`: torch's, of a device;
    `seen_mhz`: the clock that NVML told of, which counts where it is higher. None where this torch doesn't tell the
    width, and nobody the clock."""
    megahertz = max(getattr(properties, "memory_clock_rate", 0) / 1e3, seen_mhz or 0)
    bits = getattr(properties, "memory_bus_width", 0)
    return 2 * megahertz * 1e6 * bits / 8 or None
