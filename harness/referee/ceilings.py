"""What the referee's GPU can do at best, measured once per device and driver: no solution can be faster."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import torch

from harness.records.ceilings import Ceilings, read_ceilings, write_ceilings

_LARGE_BYTES = 2**30
_CACHED_BYTES = 8 * 2**20
_CACHED_COPIES = 50
_SIDE = 8192
_REPEATS = 5


def device_ceilings(cache: Path, driver: str) -> Ceilings | None:
    """From the harness's cache, or measured now, in about a second, and kept there. None where memory is too short to
    measure. The GPU should be idle."""
    device = torch.cuda.get_device_name(0)
    slug = re.sub(r"[^A-Za-z0-9.]+", "-", f"{device}-{driver}")
    path = cache / "ceilings" / f"{slug}.json"
    known = read_ceilings(path)
    if known is not None and (known.device, known.driver) == (device, driver):
        return known
    try:
        measured = measure_ceilings(device, driver)
    except torch.OutOfMemoryError:
        return None
    finally:
        torch.cuda.empty_cache()
    with contextlib.suppress(OSError):  # then it is measured again next time
        write_ceilings(path, measured)
    return measured


def measure_ceilings(device: str, driver: str) -> Ceilings:
    """Raises: torch.OutOfMemoryError."""
    properties = torch.cuda.get_device_properties(0)
    source = torch.zeros(_LARGE_BYTES // 4, device="cuda")
    target = torch.zeros_like(source)
    return Ceilings(
        device=device,
        driver=driver,
        cache_bytes=int(getattr(properties, "L2_cache_size", 0)),
        copy_bytes_per_s=2 * _LARGE_BYTES / _seconds(lambda: target.copy_(source)),
        read_bytes_per_s=_LARGE_BYTES / _seconds(lambda: torch.sum(source)),
        write_bytes_per_s=_LARGE_BYTES / _seconds(lambda: target.zero_()),
        cache_copy_bytes_per_s=_cache_copy_rate(),
        float32_operations_per_s=_matrix_rate(torch.float32, allow_tf32=False),
        tf32_operations_per_s=_matrix_rate(torch.float32, allow_tf32=True),
        bfloat16_operations_per_s=_matrix_rate(torch.bfloat16, allow_tf32=False),
    )


def _cache_copy_rate() -> float:
    """As one graph: launched one by one, such short copies would wait for the host."""
    source = torch.zeros(_CACHED_BYTES, dtype=torch.uint8, device="cuda")
    target = torch.zeros_like(source)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(_CACHED_COPIES):
            target.copy_(source)
    return 2 * _CACHED_BYTES * _CACHED_COPIES / _seconds(graph.replay)


def _matrix_rate(dtype: torch.dtype, allow_tf32: bool) -> float:
    left, right = (torch.rand(_SIDE, _SIDE, device="cuda").to(dtype) for _ in range(2))
    with _tf32(allow_tf32):
        return float(2 * _SIDE**3 / _seconds(lambda: torch.matmul(left, right)))


@contextlib.contextmanager
def _tf32(allowed: bool) -> Iterator[None]:
    before = torch.backends.cuda.matmul.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = allowed
    try:
        yield
    finally:
        torch.backends.cuda.matmul.allow_tf32 = before


def _seconds(work: Callable[[], object]) -> float:
    """The best of a few, after one that doesn't count."""
    work()
    times = []
    for _ in range(_REPEATS):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))  # type: ignore[no-untyped-call]
        start.record()
        work()
        end.record()
        end.synchronize()
        times.append(start.elapsed_time(end) / 1e3)
    return float(min(times))
