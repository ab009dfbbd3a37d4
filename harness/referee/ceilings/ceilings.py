"""The ceilings of the referee's GPU, measured once per GPU and driver: no solution can be faster."""

from __future__ import annotations

import contextlib
import datetime
import functools
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from harness.devices import Telemetry, gpu_uuid
from harness.model.ceilings import Arithmetic, Ceilings, read_ceilings, write_ceilings
from harness.referee.answers.tf32 import tf32_allowed

_unkept: dict[Path, Ceilings] = {}
"""Ceilings that this process measured and couldn't write to the cache; the next process measures again."""


def device_ceilings(cache: Path, driver: str) -> Ceilings | None:
    """Read the ceilings from the harness's cache, or measure them in a few seconds and keep them there.

    The result is None where memory is too short to measure. The GPU should be idle.
    """
    if known := known_ceilings(cache, driver):
        return known
    try:
        return renew_ceilings(cache, driver)
    except torch.OutOfMemoryError:
        return None


def known_ceilings(cache: Path, driver: str) -> Ceilings | None:
    """The ceilings measured earlier on this GPU; None where there are none, or an older harness measured less."""
    path = ceilings_path(cache, driver)
    known = read_ceilings(path) or _unkept.get(path)
    here = torch.cuda.get_device_name(0), gpu_uuid(), driver
    if known is None or known.multiprocessors is None:
        return None
    return known if (known.device, known.gpu_uuid, known.driver) == here else None


def renew_ceilings(cache: Path, driver: str) -> Ceilings:
    """Measure the ceilings and keep them, whatever was known. Raises: torch.OutOfMemoryError."""
    try:
        measured = measure_ceilings(driver)
    finally:
        torch.cuda.empty_cache()
    path = ceilings_path(cache, driver)
    try:
        write_ceilings(path, measured)
    except OSError:
        _unkept[path] = measured
    return measured


def ceilings_path(cache: Path, driver: str) -> Path:
    """The file with the ceilings of this process's GPU."""
    slug = re.sub(r"[^A-Za-z0-9.]+", "-", "-".join((torch.cuda.get_device_name(0), gpu_uuid(), driver)))
    return cache / "ceilings" / f"{slug}.json"


def measure_ceilings(driver: str) -> Ceilings:
    """Measure the ceilings, and the clocks meanwhile. Raises: torch.OutOfMemoryError."""
    properties = torch.cuda.get_device_properties(0)
    cache_bytes = int(getattr(properties, "L2_cache_size", 0))
    with Telemetry() as telemetry, telemetry.watch() as watch:
        copied, read, written = measure_memory()
        torch.cuda.empty_cache()
        cache_copy = measure_cache_copy(cache_bytes)
        products, multiply_adds = measure_matrix_products(), measure_multiply_adds()
    seen = watch.state()
    return Ceilings(
        device=properties.name,
        driver=driver,
        torch=torch.__version__,
        measured_at=datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        cache_bytes=cache_bytes,
        memory_peak_bytes_per_s=theoretical_bytes_per_s(properties, seen.memory_mhz if seen else None),
        copy_bytes_per_s=copied,
        read_bytes_per_s=read,
        write_bytes_per_s=written,
        cache_copy_bytes_per_s=cache_copy,
        matrix_operations_per_s=products,
        vector_operations_per_s=multiply_adds,
        gpu_uuid=gpu_uuid(),
        compute_capability=f"{properties.major}.{properties.minor}",
        multiprocessors=properties.multi_processor_count,
        sm_mhz=seen.sm_mhz[1] if seen and seen.sm_mhz else None,
    )


_WARM_UP_S = 0.05
"""The time until code is loaded, algorithms are chosen, and freed memory is cleared (referee.timing.settling)."""
_REPEATS = 20
_LONGEST_S = 0.1

_GIB = 2**30
_MOST_BYTES = 4 * _GIB
_MOST_CACHED_BYTES = 8 * 2**20
"""Twice that fits into one half of an H100's L2 cache: what lies in the other half takes longer."""
_CACHED_COPIES = 50

_SIDES = (4096, 8192)
_SLOW_S = 0.05
_CHAINS = 8
_STEPS = 2048
_THREADS = 2**22

_Product = Callable[[], object]


def measure_memory() -> tuple[float, float, float]:
    """Measure the rates, in bytes a second, at which large plain tensors are copied (bytes read and written), read and
    written: far larger than any cache, 4 GiB, or less where memory is short, but at least 1 GiB.

    Raises: torch.OutOfMemoryError.
    """
    nbytes = _buffer_bytes()
    source = torch.rand(nbytes // 4, device="cuda")  # a bus that carries zeros alone would show another machine
    target = torch.zeros_like(source)
    copies = (lambda: target.copy_(source), lambda: torch.add(source, 1.0, out=target))
    reads = (lambda: torch.sum(source), lambda: torch.amax(source))
    writes = (lambda: target.fill_(1.0), target.zero_)
    copied_s, read_s, written_s = (min(map(_best_seconds, ways)) for ways in (copies, reads, writes))
    return 2 * nbytes / copied_s, nbytes / read_s, nbytes / written_s


def _buffer_bytes() -> int:
    """The size of a buffer of which two fit beside what workers hold."""
    free, _ = torch.cuda.mem_get_info()
    nbytes = _MOST_BYTES
    while nbytes > _GIB and 2 * nbytes > free * 0.9:
        nbytes //= 2
    return nbytes


def measure_cache_copy(cache_bytes: int) -> float:
    """Measure copies within an L2 cache of this size: bytes read and written per second.

    All copies are one graph: launched one by one, such short copies would wait for the host.
    """
    nbytes = min(_MOST_CACHED_BYTES, max(2**20, cache_bytes // 4))
    source = torch.randint(256, (nbytes,), dtype=torch.uint8, device="cuda")
    target = torch.zeros_like(source)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(_CACHED_COPIES):
            target.copy_(source)
    return 2 * nbytes * _CACHED_COPIES / _best_seconds(graph.replay)


def theoretical_bytes_per_s(properties: Any, seen_mhz: int | None = None) -> float | None:
    """Multiply the memory's clock by the width of its bus, two transfers a clock.

    `properties` are torch's of a device. `seen_mhz` is the clock that NVML reported; the higher clock counts. None
    where torch doesn't know the width, or neither knows the clock.
    """
    megahertz = max(getattr(properties, "memory_clock_rate", 0) / 1e3, seen_mhz or 0)
    bits = getattr(properties, "memory_bus_width", 0)
    return 2 * megahertz * 1e6 * bits / 8 or None


def measure_matrix_products() -> dict[str, float]:
    """Measure square products of random numbers (zeros take less power and are faster) in each arithmetic.

    A multiplication and an addition count as two operations. The best of several sides counts, and of either operand
    transposed, which runs other kernels. An arithmetic that the device or this torch lacks is left out.

    Raises: torch.OutOfMemoryError.
    """
    makers: dict[Arithmetic, tuple[Callable[[int], _Product], ...]] = {
        "float64": _plain(torch.float64),
        "float32": _plain(torch.float32),
        "tf32": _plain(torch.float32),
        "float16": _plain(torch.float16),
        "bfloat16": _plain(torch.bfloat16),
        "float8_e4m3": (_scaled,),
        "int8": (_integers,),
    }
    rates = {}
    for name, made in makers.items():
        with tf32_allowed(name == "tf32"), contextlib.suppress(_NoSuchProduct):
            rates[name] = max(map(_best_rate, made))
    return {str(name): rate for name, rate in rates.items()}


class _NoSuchProduct(Exception):
    """The device or this torch has no such product."""


def _best_rate(make: Callable[[int], _Product]) -> float:
    """Try sides that double until a product takes long: on many GPUs float64 is 64 times slower than float32."""
    best = 0.0
    for side in _SIDES:
        product = _tried(make, side)
        seconds = _best_seconds(product)
        best = max(best, 2 * side**3 / seconds)
        if seconds > _SLOW_S:
            break
    return best


def _tried(make: Callable[[int], _Product], side: int) -> _Product:
    """Make a product and run it once. Raises: _NoSuchProduct; torch.OutOfMemoryError."""
    try:
        product = make(side)
        product()
        torch.cuda.synchronize()
    except torch.OutOfMemoryError:
        raise
    except (RuntimeError, NotImplementedError, AttributeError, ValueError) as error:  # as old torch and old GPUs say it
        raise _NoSuchProduct from error
    return product


def _plain(dtype: torch.dtype) -> tuple[Callable[[int], _Product], ...]:
    def plain(side: int, transposed: tuple[bool, bool]) -> _Product:
        left, right = (
            matrix.t() if is_transposed else matrix
            for matrix, is_transposed in zip((_random(side, dtype), _random(side, dtype)), transposed, strict=True)
        )
        return lambda: torch.matmul(left, right)

    kinds = ((False, False), (False, True), (True, False))
    return tuple(functools.partial(plain, transposed=kind) for kind in kinds)


def _random(side: int, dtype: torch.dtype) -> torch.Tensor:
    return torch.rand(side, side, device="cuda").to(dtype)


def _scaled(side: int) -> _Product:
    """A scaled product, which needs its right operand column by column."""
    left, right = (torch.rand(side, side, device="cuda").to(torch.float8_e4m3fn) for _ in range(2))
    one = torch.ones((), device="cuda")
    return lambda: torch._scaled_mm(
        left, right.t(), scale_a=one, scale_b=one, out_dtype=torch.bfloat16, use_fast_accum=True
    )


def _integers(side: int) -> _Product:
    left, right = (torch.randint(-128, 128, (side, side), dtype=torch.int8, device="cuda") for _ in range(2))
    return lambda: torch._int_mm(left, right.t())


def measure_multiply_adds() -> float | None:
    """Measure float32 in registers: each thread computes eight independent chains. None where torch can't compile a
    kernel for it at run time."""
    chains = range(_CHAINS)
    source = (
        "template <typename T> T chains(T x) {\n"
        + "".join(f"  T v{i} = x + T({i});\n" for i in chains)
        + f"  for (int step = 0; step < {_STEPS}; ++step) {{\n"
        + "".join(f"    v{i} = v{i} * x + x;\n" for i in chains)
        + "  }\n  return "
        + " + ".join(f"v{i}" for i in chains)
        + ";\n}\n"
    )
    numbers = torch.rand(_THREADS, device="cuda")
    try:
        multiply_add = torch.cuda.jiterator._create_jit_fn(source)
        multiply_add(numbers)
        torch.cuda.synchronize()
    except torch.OutOfMemoryError:
        raise
    except (RuntimeError, AttributeError):
        return None
    return 2.0 * _CHAINS * _STEPS * _THREADS / _best_seconds(lambda: multiply_add(numbers))


def _best_seconds(work: Callable[[], object]) -> float:
    """The shortest of twenty runs after some for warming up; of fewer where twenty would take long."""
    until = time.monotonic() + _WARM_UP_S
    while True:
        first = _seconds(work)
        if time.monotonic() >= until:
            break
    repeats = max(2, min(_REPEATS, round(_LONGEST_S / first)))
    return min(first, *(_seconds(work) for _ in range(repeats)))


def _seconds(work: Callable[[], object]) -> float:
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))  # type: ignore[no-untyped-call]
    start.record()
    work()
    end.record()
    end.synchronize()
    return float(start.elapsed_time(end) / 1e3)
