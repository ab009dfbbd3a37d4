"""The ceilings of the referee's GPU, measured once per GPU and driver: no solution can be faster."""

from __future__ import annotations

import datetime
import re
from dataclasses import asdict
from pathlib import Path

import torch

from harness.devices import Telemetry, gpu_uuid
from harness.model.ceilings import Ceilings, read_ceilings, write_ceilings
from harness.referee.ceilings.rates import (
    measure_cache_copy,
    measure_matrix_products,
    measure_memory,
    measure_multiply_adds,
    theoretical_bytes_per_s,
)

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
        memory = measure_memory()
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
        **asdict(memory),
        cache_copy_bytes_per_s=cache_copy,
        matrix_operations_per_s=products,
        vector_operations_per_s=multiply_adds,
        gpu_uuid=gpu_uuid(),
        compute_capability=f"{properties.major}.{properties.minor}",
        multiprocessors=properties.multi_processor_count,
        sm_mhz=seen.sm_mhz[1] if seen and seen.sm_mhz else None,
    )
