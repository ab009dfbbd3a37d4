"""The highest rates that a device can reach, in theory and as measured on it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Literal, get_args

from pydantic import NonNegativeInt, TypeAdapter
from pydantic.dataclasses import dataclass

from harness.model.record import RECORD, Positive, as_json

Arithmetic = Literal["float64", "float32", "tf32", "float16", "bfloat16", "float8_e4m3", "int8"]
"""The arithmetic in which a matrix product multiplies."""

ARITHMETICS: tuple[Arithmetic, ...] = get_args(Arithmetic)

RateSource = Literal["theory", "measured"]


@dataclass(frozen=True, config=RECORD)
class Ceiling:
    """Bytes or operations per second that nothing exceeds, and whether theory or a measurement says so."""

    rate: float
    source: RateSource


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
    """The time of the measurement in UTC, ISO 8601."""
    cache_bytes: NonNegativeInt
    memory_peak_bytes_per_s: Positive | None
    copy_bytes_per_s: Positive
    read_bytes_per_s: Positive
    write_bytes_per_s: Positive
    cache_copy_bytes_per_s: Positive
    matrix_operations_per_s: dict[str, Positive]
    """Rates of matrix products by their arithmetic; what device and torch don't have is left out."""
    vector_operations_per_s: Positive | None
    """The rate of float32 multiply-adds in registers, outside of tensor cores; None where they couldn't be measured."""
    gpu_uuid: str | None = None
    """The GPU of the model that it was, see Environment; GPUs of one model differ."""
    compute_capability: str | None = None
    multiprocessors: int | None = None
    sm_mhz: int | None = None
    """The highest clock of the multiprocessors that was seen: in the turns of an evaluation, else while these were
    measured. It is None where the driver doesn't tell it, and in records from before it was kept."""

    def __post_init__(self) -> None:
        if not set(self.matrix_operations_per_s) - _NARROW:
            raise ValueError("ceilings hold the rate of a matrix product of 16 bits or more")

    @property
    def memory(self) -> Ceiling:
        """The peak, or the best of reading, writing and both where that is higher."""
        best = max(self.copy_bytes_per_s, self.read_bytes_per_s, self.write_bytes_per_s)
        return _higher(self.memory_peak_bytes_per_s, best)

    def arithmetic(self, name: str) -> Ceiling | None:
        """The theoretical rate at the clock that was seen, or the measured one where that is higher. It is None where
        neither is known. float32 needs no matrix product: bare multiply-adds count as well."""
        measured = [self.matrix_operations_per_s.get(name), self.vector_operations_per_s if name == "float32" else None]
        best = max((rate for rate in measured if rate is not None), default=None)
        return None if best is None else _higher(self.theory.get(name), best)

    @property
    def theory(self) -> dict[str, float]:
        """Theoretical operations per second, by arithmetic; empty where what they follow from isn't known."""
        if self.multiprocessors is None or self.sm_mhz is None:
            return {}
        per_clock = _PER_CLOCK.get(self.compute_capability or "", {})
        return {name: float(count * self.multiprocessors * self.sm_mhz * 10**6) for name, count in per_clock.items()}

    @property
    def fastest(self) -> str:
        """The fastest arithmetic that a problem may be held to: eight bits are too few for any."""
        rates = self.matrix_operations_per_s
        return max((name for name in rates if name not in _NARROW), key=lambda name: rates[name])


def _higher(theory: float | None, measured: float) -> Ceiling:
    return Ceiling(measured, "measured") if theory is None or theory < measured else Ceiling(theory, "theory")


_NARROW = {"float8_e4m3", "int8"}


def read_ceilings(path: Path) -> Ceilings | None:
    """Read what write_ceilings() left; return None where there is nothing, or something else, such as an older
    version's."""
    try:
        return TypeAdapter(Ceilings).validate_json(path.read_bytes())
    except (OSError, ValueError):
        return None


def write_ceilings(path: Path, ceilings: Ceilings) -> None:
    """Write them whole or not at all. Raises: OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    whole = path.with_suffix(f".{os.getpid()}")
    whole.write_text(json.dumps(as_json(ceilings)))
    whole.replace(path)


_PER_CLOCK: dict[str, dict[str, int]] = {
    "8.0": {"float32": 128, "tf32": 1024, "float16": 2048, "bfloat16": 2048},
    "8.6": {"float32": 256, "tf32": 512, "float16": 1024, "bfloat16": 1024},
    "8.9": {"float32": 256, "tf32": 512, "float16": 1024, "bfloat16": 1024, "float8_e4m3": 2048},
    "9.0": {"float32": 256, "tf32": 2048, "float16": 4096, "bfloat16": 4096, "float8_e4m3": 8192},
    "10.0": {"float32": 256, "tf32": 4096, "float16": 8192, "bfloat16": 8192, "float8_e4m3": 16384},
    "12.0": {"float32": 256, "tf32": 512, "float16": 1024, "bfloat16": 1024, "float8_e4m3": 2048},
}
"""Operations of one multiprocessor in one clock in theory, by compute capability and arithmetic.

Dense, a multiply-add counted as two. float32 outside of tensor cores: NVIDIA, CUDA C++ Programming Guide, "Arithmetic
Instructions", whose results per clock are doubled. Tensor cores: what NVIDIA states for a board, divided by its
multiprocessors and its boost clock:

| capability | source                                                  | board, multiprocessors, clock    |
|------------|---------------------------------------------------------|----------------------------------|
| 8.0        | NVIDIA A100 Tensor Core GPU Architecture (2020)         | A100, 108, 1410 MHz              |
| 8.6        | NVIDIA Ampere GA102 GPU Architecture (2021)             | A40, 84, 1740 MHz                |
| 8.9        | NVIDIA Ada GPU Architecture (2023), L40S data sheet     | L40S, 142, 2520 MHz              |
| 9.0        | NVIDIA H100 Tensor Core GPU Architecture (2022)         | H100 SXM5, 132, 1830 MHz         |
| 10.0       | NVIDIA Blackwell data sheet (2024)                      | B200, 148, 1850 MHz              |
| 12.0       | NVIDIA RTX Blackwell PRO GPU Architecture (2025)        | RTX PRO 6000, 188, 2617 MHz      |

Boards for games of 8.6, 8.9 and 12.0 have half these rates where sums are float32: for them it is a limit that nothing
exceeds, and nothing reaches. A capability, or an arithmetic, that isn't here has no theoretical rate.
"""
