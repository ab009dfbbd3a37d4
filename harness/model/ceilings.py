"""How fast a device can be at best, in theory and as measured on it."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path
from typing import Literal, get_args

from pydantic import TypeAdapter
from pydantic.dataclasses import dataclass

from harness.model.record import RECORD, as_json
from harness.model.theory import theoretical_operations_per_s

Arithmetic = Literal["float64", "float32", "tf32", "float16", "bfloat16", "float8_e4m3", "int8"]
"""In what a matrix product multiplies."""

ARITHMETICS: tuple[Arithmetic, ...] = get_args(Arithmetic)

Source = Literal["theory", "measured"]


@dataclass(frozen=True, config=RECORD)
class Ceiling:
    """Bytes or operations per second that nothing exceeds, and whether theory or a measurement says so."""

    rate: float
    source: Source


@dataclass(frozen=True, config=RECORD)
class Ceilings:
    """Rates per second. A copy's bytes are those read and those written, together; an operation is a multiplication or
    an addition. `cache_bytes` is the L2 cache's size, `cache_copy_bytes_per_s` a copy that stays inside it.

    `memory_peak_bytes_per_s` is not measured: the memory's clock times the width of its bus; None where the driver
    doesn't tell them.
    """

    device: str
    driver: str
    torch: str
    """The version that measured: matrix products are those of its libraries."""
    measured_at: str
    """UTC, ISO 8601."""
    cache_bytes: int
    memory_peak_bytes_per_s: float | None
    copy_bytes_per_s: float
    read_bytes_per_s: float
    write_bytes_per_s: float
    cache_copy_bytes_per_s: float
    matrix_operations_per_s: dict[str, float]
    """Of matrix products, by their arithmetic; what device and torch don't have is left out."""
    vector_operations_per_s: float | None
    """Of float32 multiply-adds in registers, outside of tensor cores; None where they couldn't be measured."""
    gpu_uuid: str | None = None
    """Which GPU of the model it was, see Environment; they differ."""
    compute_capability: str | None = None
    multiprocessors: int | None = None
    sm_mhz: int | None = None
    """The highest clock of the multiprocessors that was seen: in the turns of an evaluation, else while these were
    measured. None where the driver doesn't tell, and in records from before it was kept."""

    def __post_init__(self) -> None:
        memory = (self.copy_bytes_per_s, self.read_bytes_per_s, self.write_bytes_per_s, self.cache_copy_bytes_per_s)
        maybe = (self.memory_peak_bytes_per_s, self.vector_operations_per_s)
        rates = [*memory, *self.matrix_operations_per_s.values(), *(rate for rate in maybe if rate is not None)]
        if self.cache_bytes < 0 or not all(math.isfinite(rate) and rate > 0 for rate in rates):
            raise ValueError("ceilings are positive rates")
        if not set(self.matrix_operations_per_s) - _NARROW:
            raise ValueError("ceilings hold the rate of a matrix product of 16 bits or more")

    @property
    def memory(self) -> Ceiling:
        """The peak, or the best of reading, writing and both where that is higher."""
        best = max(self.copy_bytes_per_s, self.read_bytes_per_s, self.write_bytes_per_s)
        return _higher(self.memory_peak_bytes_per_s, best)

    def arithmetic(self, name: str) -> Ceiling | None:
        """The theoretical rate at the clock that was seen, or the measured one where that is higher. None where neither
        is known. float32 needs no matrix product: bare multiply-adds count as well."""
        measured = [self.matrix_operations_per_s.get(name), self.vector_operations_per_s if name == "float32" else None]
        best = max((rate for rate in measured if rate is not None), default=None)
        return None if best is None else _higher(self.theory.get(name), best)

    @property
    def theory(self) -> dict[str, float]:
        """Operations per second, by arithmetic."""
        return theoretical_operations_per_s(self.compute_capability, self.multiprocessors, self.sm_mhz)

    @property
    def fastest(self) -> str:
        """The fastest arithmetic that a problem may be held to: eight bits are too few for any."""
        rates = self.matrix_operations_per_s
        return max((name for name in rates if name not in _NARROW), key=lambda name: rates[name])


def _higher(theory: float | None, measured: float) -> Ceiling:
    return Ceiling(measured, "measured") if theory is None or theory < measured else Ceiling(theory, "theory")


_NARROW = {"float8_e4m3", "int8"}


def read_ceilings(path: Path) -> Ceilings | None:
    """What write_ceilings() left; None where there is nothing, or something else, such as an older version's."""
    try:
        return TypeAdapter(Ceilings).validate_json(path.read_bytes())
    except (OSError, ValueError):
        return None


def write_ceilings(path: Path, ceilings: Ceilings) -> None:
    """Whole or not at all. Raises: OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    whole = path.with_suffix(f".{os.getpid()}")
    whole.write_text(json.dumps(as_json(ceilings)))
    whole.replace(path)
