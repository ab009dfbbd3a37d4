"""The content of a roofline: each arm's rates on the work that a call can't do without, and the device's ceilings.

S. Williams, A. Waterman, D. Patterson, Roofline: an insightful visual performance model (CACM 52:4, 2009).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from harness.model.ceilings import Ceilings
from harness.model.evaluation import Evaluation, SpeedOfLight, Work
from harness.model.roofline import light_of
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


@dataclass(frozen=True)
class Achieved:
    """The rates of an arm in the median of its blocks. `share` is that of the speed of light, and `bound` what bounds
    it: 'memory' or an arithmetic. Both are None where the ceilings aren't known."""

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
    """Return None for a record that doesn't say how much work a call is."""
    work, ceilings, light = evaluation.work, evaluation.ceilings, evaluation.speed_of_light
    if work is None:
        return None
    intensity = None if work.operations is None else work.operations / work.least_bytes
    roof = roof_of(ceilings, work, light) if ceilings and light else None
    points = (_point(arm, work, light_of(evaluation, arm.name) if roof else None) for arm in arms)
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


def _point(arm: ArmSamples, work: Work, light: SpeedOfLight | None) -> Achieved:
    per_second = 1e9 / arm.typical_ns
    return Achieved(
        arm=arm,
        bytes_per_s=work.least_bytes * per_second,
        operations_per_s=work.operations and work.operations * per_second,
        share=light.ns / arm.typical_ns if light else None,
        bound=one_line(light.bound) if light else None,
    )
