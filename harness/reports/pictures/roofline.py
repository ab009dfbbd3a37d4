"""What a roofline shows: what each arm achieved of the work that a call can't do without, and the device's ceilings.

S. Williams, A. Waterman, D. Patterson, Roofline: an insightful visual performance model (CACM 52:4, 2009).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from harness.records.arms import OF_PRECISION
from harness.records.evaluation import Work
from harness.records.statistics import Interval
from harness.reports.numbers import format_rate
from harness.reports.pictures.roof import Ceiling, Roof
from harness.reports.pictures.samples import ArmSamples


@dataclass(frozen=True)
class Point:
    """What an arm achieved in the median of its blocks. `share` is that of what it could, and `bound` what bounds it:
    'memory' or an arithmetic. Both are None where the ceilings aren't known."""

    arm: str
    is_solution: bool
    typical_ns: float
    interval: Interval | None
    """Of that median, in ns."""
    bytes_per_s: float
    operations_per_s: float | None
    share: float | None
    bound: str | None


@dataclass(frozen=True)
class RooflinePicture:
    """`intensity` is in operations per byte; None where no operations are counted, and then bytes are drawn alone.
    `roof` is the solution's; None where the device's ceilings aren't known."""

    work: Work
    intensity: float | None
    points: tuple[Point, ...]
    roof: Roof | None


def roofline_picture(
    arms: Sequence[ArmSamples], work: Work, roof: Roof | None, reference_roof: Roof | None
) -> RooflinePicture:
    """`arms` as samples_picture() has them. The reference may compute in another precision than the solution, but for
    the one that is there to compute in the same."""
    intensity = None if work.operations is None else work.operations / work.least_bytes
    alike = {"solution", *OF_PRECISION.values()}
    points = (_point(arm, work, intensity, roof if arm.name in alike else reference_roof) for arm in arms)
    return RooflinePicture(work, intensity, tuple(points), roof)


def grouped(ceilings: Sequence[Ceiling], close: float) -> list[tuple[Ceiling, ...]]:
    """Highest first; those of a kind whose neighbours' ratio is below `close` stand together, to share a label."""
    groups: list[tuple[Ceiling, ...]] = []
    for ceiling in sorted(ceilings, key=lambda one: -one.rate):
        last = groups[-1] if groups else ()
        if last and last[-1].rate / ceiling.rate < close and last[-1].kind == ceiling.kind:
            groups[-1] = (*last, ceiling)
        else:
            groups.append((ceiling,))
    return groups


def label_of(group: Sequence[Ceiling], unit: str) -> str:
    """'memory: write 3.29, read 3.09, copy 3.03 TB/s'; ceilings of a group are of one kind."""
    texts = [f"{ceiling.name} {format_rate(ceiling.rate, unit)}" for ceiling in group]
    shared = texts[-1].rpartition(" ")[2]
    texts = [text.removesuffix(f" {shared}") for text in texts[:-1]] + texts[-1:]
    return f"{group[0].kind}: {', '.join(texts)}"


def _point(arm: ArmSamples, work: Work, intensity: float | None, roof: Roof | None) -> Point:
    per_second = 1e9 / arm.typical_ns
    moved, computed = work.least_bytes * per_second, work.operations and work.operations * per_second
    limit, bound = roof.limit(intensity) if roof else (None, None)
    return Point(
        arm=arm.name,
        is_solution=arm.is_solution,
        typical_ns=arm.typical_ns,
        interval=arm.interval,
        bytes_per_s=moved,
        operations_per_s=computed,
        share=(computed or moved) / limit if limit else None,
        bound=bound,
    )
