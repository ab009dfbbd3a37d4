"""The content of a roofline: each arm's rates on the work that a call can't do without, and the device's ceilings.

S. Williams, A. Waterman, D. Patterson, Roofline: an insightful visual performance model (CACM 52:4, 2009).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from harness.model.arms import OF_PRECISION
from harness.model.ceilings import Ceilings
from harness.model.evaluation import Evaluation, SpeedOfLight, Work
from harness.model.roofline import arithmetic_of, speed_of_light
from harness.reports.numbers import SOURCES, format_rate
from harness.reports.pictures.calls import ArmSamples
from harness.reports.untrusted import one_line

_DRAWN = ("float32", "tf32", "bfloat16")
"""Arithmetics that are drawn besides what bounds an arm; lines of all would hide the points."""


@dataclass(frozen=True)
class CeilingLine:
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

    memory: tuple[CeilingLine, ...]
    arithmetic: tuple[CeilingLine, ...]
    memory_bytes_per_s: float
    bound: CeilingLine | None

    @property
    def of_bytes(self) -> tuple[CeilingLine, ...]:
        """Memory's ceilings, with the one that holds for the arm where that is none of them, as in records from before
        theory counted."""
        if any(self.bounds_bytes(ceiling) for ceiling in self.memory):
            return self.memory
        return (*self.memory, CeilingLine("memory", "as mixed here", self.memory_bytes_per_s))

    def bounds_bytes(self, ceiling: CeilingLine) -> bool:
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


@dataclass(frozen=True)
class Achieved:
    """The rates of an arm in the median of its blocks. `share` is that of what it could do, and `bound` what bounds it:
    'memory' or an arithmetic. Both are None where the ceilings aren't known."""

    arm: ArmSamples
    bytes_per_s: float
    operations_per_s: float | None
    share: float | None
    bound: str | None


@dataclass(frozen=True)
class Roofline:
    """`intensity` is in operations per byte; None where no operations are counted, and then bytes are drawn alone.
    `roof` is the solution's; None where the device's ceilings aren't known."""

    work: Work
    intensity: float | None
    points: tuple[Achieved, ...]
    roof: Roof | None


def roof_of(ceilings: Ceilings, work: Work, light: SpeedOfLight) -> Roof:
    """`light`: the arm's, which says what memory and arithmetic can do for this work."""
    known = {name: ceilings.arithmetic(name) for name in ceilings.matrix_operations_per_s}
    drawn = (*_DRAWN, light.arithmetic)
    arithmetic = {
        name: CeilingLine(SOURCES[best.source], one_line(name), best.rate)
        for name, best in known.items()
        if best and name in drawn
    }
    peak = ceilings.memory_peak_bytes_per_s
    memory = (
        *((CeilingLine("memory", "in theory", peak),) if peak else ()),
        CeilingLine("memory", "read", ceilings.read_bytes_per_s),
        CeilingLine("memory", "write", ceilings.write_bytes_per_s),
        CeilingLine("memory", "copy", ceilings.copy_bytes_per_s),
        CeilingLine("inside L2", "copy", ceilings.cache_copy_bytes_per_s, is_cache=True),
    )
    bound = arithmetic.get(light.arithmetic) if light.arithmetic else None
    return Roof(memory, tuple(arithmetic.values()), work.least_bytes / light.memory_ns * 1e9, bound)


def roofline_of(evaluation: Evaluation, arms: Sequence[ArmSamples]) -> Roofline | None:
    """Return None for a record that doesn't say how much work a call is. The reference is held against the problem's
    precision."""
    work, ceilings, light = evaluation.work, evaluation.ceilings, evaluation.speed_of_light
    if work is None:
        return None
    if ceilings is None or light is None:
        return roofline(arms, work, None, None)
    arithmetic = arithmetic_of(None, evaluation.problem.precision, evaluation.environment.flags, work)
    reference = roof_of(ceilings, work, speed_of_light(work, ceilings, arithmetic))
    return roofline(arms, work, roof_of(ceilings, work, light), reference)


def roofline(arms: Sequence[ArmSamples], work: Work, roof: Roof | None, reference_roof: Roof | None) -> Roofline:
    """The reference may compute in another precision than the solution, but for the one that is there to compute in the
    same."""
    intensity = None if work.operations is None else work.operations / work.least_bytes
    alike = {"solution", *OF_PRECISION.values()}
    points = (_point(arm, work, intensity, roof if arm.name in alike else reference_roof) for arm in arms)
    return Roofline(work, intensity, tuple(points), roof)


def grouped(ceilings: Sequence[CeilingLine], close: float) -> list[tuple[CeilingLine, ...]]:
    """Sort, highest first; those of a kind whose neighbours' ratio is below `close` are grouped, to share a label."""
    groups: list[tuple[CeilingLine, ...]] = []
    for ceiling in sorted(ceilings, key=lambda one: -one.rate):
        last = groups[-1] if groups else ()
        if last and last[-1].rate / ceiling.rate < close and last[-1].kind == ceiling.kind:
            groups[-1] = (*last, ceiling)
        else:
            groups.append((ceiling,))
    return groups


def label_of(group: Sequence[CeilingLine], unit: str) -> str:
    """'memory: write 3.29, read 3.09, copy 3.03 TB/s'; ceilings of a group are of one kind."""
    texts = [f"{ceiling.name} {format_rate(ceiling.rate, unit)}" for ceiling in group]
    shared = texts[-1].rpartition(" ")[2]
    texts = [text.removesuffix(f" {shared}") for text in texts[:-1]] + texts[-1:]
    return f"{group[0].kind}: {', '.join(texts)}"


def _point(arm: ArmSamples, work: Work, intensity: float | None, roof: Roof | None) -> Achieved:
    per_second = 1e9 / arm.typical_ns
    moved, computed = work.least_bytes * per_second, work.operations and work.operations * per_second
    limit, bound = roof.limit(intensity) if roof else (None, None)
    return Achieved(
        arm=arm,
        bytes_per_s=moved,
        operations_per_s=computed,
        share=(computed or moved) / limit if limit else None,
        bound=bound,
    )
