"""The ceilings of a device that a picture draws."""

from __future__ import annotations

import math
from dataclasses import dataclass

from harness.records.ceilings import Ceilings

_ARITHMETIC = {"float32": "float32", "tf32": "tf32", "float16": "bfloat16", "bfloat16": "bfloat16"}
"""The matrix rate that a precision is held against; half precisions run equally fast."""


@dataclass(frozen=True)
class Ceiling:
    """Bytes or operations per second, named within a kind: 'memory', 'write'. `is_cache`: of the L2 cache, out of reach
    for work that is larger."""

    kind: str
    name: str
    rate: float
    is_cache: bool = False


@dataclass(frozen=True)
class Roof:
    """All ceilings, and those that hold for an arm: `memory_bytes_per_s`, and of the arithmetic `bound`, None where it
    wasn't measured."""

    memory: tuple[Ceiling, ...]
    arithmetic: tuple[Ceiling, ...]
    memory_bytes_per_s: float
    bound: Ceiling | None

    @property
    def of_bytes(self) -> tuple[Ceiling, ...]:
        """Memory's ceilings, with the one that holds for the arm where that is none of the measured ones."""
        if any(self.bounds_bytes(ceiling) for ceiling in self.memory):
            return self.memory
        return (*self.memory, Ceiling("memory", "as mixed here", self.memory_bytes_per_s))

    def bounds_bytes(self, ceiling: Ceiling) -> bool:
        return not ceiling.is_cache and math.isclose(ceiling.rate, self.memory_bytes_per_s)

    def limit(self, intensity: float | None) -> tuple[float, str]:
        """Operations per second that are within reach at so many operations per byte, and what bounds them: 'memory' or
        an arithmetic. Bytes per second where there are no operations."""
        if intensity is None:
            return self.memory_bytes_per_s, "memory"
        from_memory = self.memory_bytes_per_s * intensity
        if self.bound is None or from_memory <= self.bound.rate:
            return from_memory, "memory"
        return self.bound.rate, self.bound.name


def roof_of(ceilings: Ceilings, precision: str) -> Roof:
    """`precision`: what the arm computes in."""
    rates = {
        "float32": ceilings.float32_operations_per_s,
        "tf32": ceilings.tf32_operations_per_s,
        "bfloat16": ceilings.bfloat16_operations_per_s,
    }
    arithmetic = {name: Ceiling("matrix product", name, rate) for name, rate in rates.items()}
    memory = (
        Ceiling("memory", "read", ceilings.read_bytes_per_s),
        Ceiling("memory", "write", ceilings.write_bytes_per_s),
        Ceiling("memory", "copy", ceilings.copy_bytes_per_s),
        Ceiling("inside L2", "copy", ceilings.cache_copy_bytes_per_s, is_cache=True),
    )
    bound = arithmetic.get(_ARITHMETIC.get(precision, ""))
    return Roof(memory, tuple(arithmetic.values()), ceilings.memory_bytes_per_s, bound)
