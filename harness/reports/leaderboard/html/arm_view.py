"""The distribution of an arm's calls."""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup

from harness.records.timing import Timing
from harness.reports.leaderboard.html.charts import histogram
from harness.reports.numbers import format_ms


@dataclass(frozen=True)
class ArmView:
    """The calls of one arm: half of them lie within `middle`, the picture spans `low` to `high`; in ms."""

    name: str
    calls: int
    median: str
    middle: str
    low: str
    high: str
    picture: Markup


def arm_views(timing: Timing | None) -> tuple[ArmView, ...]:
    """Baselines first, then their control, the solution last."""
    if timing is None:
        return ()
    return tuple(_arm(name, timing.calls_ns(name), timing.time_ns(name)) for name in timing.arms)


def _arm(name: str, calls: tuple[int, ...], time_ns: float) -> ArmView:
    ordered = sorted(calls)
    q1, q3 = ordered[len(ordered) // 4], ordered[(3 * len(ordered)) // 4]
    reach = 4 * max(q3 - q1, 1)  # far-out calls would squeeze all others into a bin
    low, high = max(ordered[0], q1 - reach), min(ordered[-1], q3 + reach)
    return ArmView(
        name=name,
        calls=len(ordered),
        median=format_ms(time_ns),
        middle=f"{format_ms(q1)} – {format_ms(q3)}",
        low=("≤ " if low > ordered[0] else "") + format_ms(low),
        high=("≥ " if high < ordered[-1] else "") + format_ms(high),
        picture=histogram(ordered, low, high),
    )
