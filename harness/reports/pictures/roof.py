"""The ceilings of a device that a picture draws."""

from __future__ import annotations

import math
from dataclasses import dataclass

from harness.records.ceilings import Ceilings, Source
from harness.records.evaluation import SpeedOfLight, Work
from harness.reports.untrusted import one_line

_DRAWN = ("float32", "tf32", "bfloat16")
"""Of arithmetic, besides what bounds an arm: a picture of all would be one of lines."""


_KINDS: dict[Source, str] = {"theory": "in theory", "measured": "as measured"}


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
    """All ceilings, and those that hold for an arm: `memory_bytes_per_s`, and of the arithmetic `bound`, None where no
    operations are counted."""

    memory: tuple[Ceiling, ...]
    arithmetic: tuple[Ceiling, ...]
    memory_bytes_per_s: float
    bound: Ceiling | None

    @property
    def of_bytes(self) -> tuple[Ceiling, ...]:
        """Memory's ceilings, with the one that holds for the arm where that is none of them, as in records from before
        theory counted."""
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


def roof_of(ceilings: Ceilings, work: Work, light: SpeedOfLight) -> Roof:
    """`light`: the arm's, which says what memory and arithmetic can do for this work."""
    known = {name: ceilings.arithmetic(name) for name in ceilings.matrix_operations_per_s}
    drawn = (*_DRAWN, light.arithmetic)
    arithmetic = {
        name: Ceiling(_KINDS[best.source], one_line(name), best.rate)
        for name, best in known.items()
        if best and name in drawn
    }
    peak = ceilings.memory_peak_bytes_per_s
    memory = (
        *((Ceiling("memory", "in theory", peak),) if peak else ()),
        Ceiling("memory", "read", ceilings.read_bytes_per_s),
        Ceiling("memory", "write", ceilings.write_bytes_per_s),
        Ceiling("memory", "copy", ceilings.copy_bytes_per_s),
        Ceiling("inside L2", "copy", ceilings.cache_copy_bytes_per_s, is_cache=True),
    )
    bound = arithmetic.get(light.arithmetic) if light.arithmetic else None
    return Roof(memory, tuple(arithmetic.values()), work.least_bytes / light.memory_ns * 1e9, bound)
