"""The distribution of an arm's calls."""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup

from harness.records.spread import quartiles
from harness.records.timing import Timing
from harness.reports.numbers import format_ms
from harness.reports.pictures.arms import ArmSamples, samples_of
from harness.reports.pictures.drawing import Picture, page_svg
from harness.reports.pictures.samples import histogram


@dataclass(frozen=True)
class ArmView:
    """The calls of one arm: half of them lie within `middle`, the picture spans `low` to `high`; in ms."""

    name: str
    calls: int
    beyond: int
    median: str
    middle: str
    low: str
    high: str
    picture: Markup


def arm_views(timing: Timing | None) -> tuple[ArmView, ...]:
    """Baselines first, then their control, the solution last."""
    return tuple(map(_arm, samples_of(timing).arms)) if timing else ()


def _arm(arm: ArmSamples) -> ArmView:
    q1, q3 = quartiles(arm.ns)
    low, high = arm.close_up_ns
    return ArmView(
        name=arm.name,
        calls=len(arm.ns),
        beyond=arm.beyond,
        median=format_ms(arm.typical_ns),
        middle=f"{format_ms(q1)} – {format_ms(q3)}",
        low=format_ms(low),
        high=format_ms(high),
        picture=page_svg(Picture(tuple(histogram(arm, 24)), 24)),
    )
