"""A timing in numbers: a row for every metric and arm, and a JSON object of it all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from harness.records.arms import ArmName, Metric
from harness.records.evaluation import Evaluation
from harness.records.fastest import fastest_baseline
from harness.records.speed_verdict import SpeedVerdict
from harness.records.spread import spread
from harness.records.statistics import Interval, median, median_interval
from harness.records.timing import Timing


@dataclass(frozen=True)
class ArmNumbers:
    """One arm by one metric; times in ns. Quartiles, deviation and outliers are of all calls.

    `held_up` counts those that are in no block's value. `time_ns` is the median of the blocks' values, `typical_ns` the
    same with its interval, None with too few blocks. `ratio` is the arm's time over the solution's; of the control the
    first baseline's time over its own; of the solution None. `speed` is said of the headline alone.
    """

    metric: Metric | Literal["launch"]
    arm: ArmName
    calls: int
    blocks: int
    minimum_ns: float
    q1_ns: float
    median_ns: float
    q3_ns: float
    mad_ns: float
    outliers: int
    held_up: int
    time_ns: float
    typical_ns: Interval | None
    ratio: Interval | None
    speed: SpeedVerdict | None


def arm_numbers(timing: Timing) -> list[ArmNumbers]:
    """The headline's arms, then those of the further metrics, then launches."""
    rows = [timing, *(timing.of_row(row) for row in timing.rows)]
    measured = [_numbers(one, arm, is_headline=one is timing) for one in rows for arm in one.arms]
    return measured + list(_launches(timing))


def timing_json(evaluation: Evaluation) -> dict[str, Any]:
    """What is derived from an evaluation's timing, as `harness show --statistics` prints it; empty without one."""
    timing = evaluation.timing
    if timing is None:
        return {}
    fastest = fastest_baseline(timing)
    return {
        "case": timing.case,
        "metric": timing.metric,
        "speedup": _json(timing.speedup),
        "speed": timing.speed,
        "delta": timing.delta,
        "precision": {"asked": evaluation.config.timing.precision, "missed": evaluation.missed_precision},
        "between_workers": timing.between_workers,
        "control": _json(timing.control_ratio),
        "share_of_light": evaluation.share_of_light,
        "own_share": evaluation.own_share,
        "light_source": evaluation.light_source,
        "fastest_baseline": asdict(fastest) if fastest else None,
        "noise": list(timing.noises),
        "noise_over": {baseline: list(timing.noises_over(baseline)) for baseline in timing.baselines[1:]},
        "remarks": list(timing.oddities),
        "floors": asdict(timing.floors) if timing.floors else None,
        "processes": timing.processes,
        "arms": [asdict(row) for row in arm_numbers(timing)],
        "peak_memory": [asdict(peak) for peak in timing.memory],
    }


TIMING_CELLS = (
    *("metric", "arm", "calls", "blocks", "minimum_ns", "q1_ns", "median_ns", "q3_ns", "mad_ns", "outliers"),
    *("typical_ns", "typical_low_ns", "typical_high_ns", "ratio", "ratio_low", "ratio_high", "speed"),
)


def timing_cells(row: ArmNumbers) -> dict[str, Any]:
    """TIMING_CELLS of a row: an interval takes three."""
    typical, ratio = row.typical_ns, row.ratio
    intervals = {
        "typical_ns": typical and typical.estimate,
        "typical_low_ns": typical and typical.low,
        "typical_high_ns": typical and typical.high,
        "ratio": ratio and ratio.estimate,
        "ratio_low": ratio and ratio.low,
        "ratio_high": ratio and ratio.high,
    }
    return {name: intervals[name] if name in intervals else getattr(row, name) for name in TIMING_CELLS}


def _numbers(timing: Timing, arm: ArmName, is_headline: bool) -> ArmNumbers:
    baseline = next((one for one in timing.baselines if one == arm), None)
    ratio = timing.control_ratio if arm == "control" else timing.speedup_over(baseline) if baseline else None
    return _row(
        timing.metric,
        arm,
        timing.calls_ns(arm),
        timing.block_ns(arm),
        ratio,
        timing.speed_over(baseline) if baseline and is_headline else None,
        timing.held_up(arm),
    )


def _launches(timing: Timing) -> Iterator[ArmNumbers]:
    for arm in timing.arms:
        calls = timing.launch_ns(arm)
        baseline = next((one for one in timing.baselines if one == arm), None)
        if calls:
            blocks = timing.block_launch_ns(arm)
            yield _row("launch", arm, calls, blocks, timing.launch_ratio_over(baseline) if baseline else None, None)


def _row(
    metric: Metric | Literal["launch"],
    arm: ArmName,
    calls: Sequence[int],
    blocks: Sequence[float],
    ratio: Interval | None,
    speed: SpeedVerdict | None,
    held_up: int = 0,
) -> ArmNumbers:
    found = spread(calls)
    return ArmNumbers(
        metric=metric,
        arm=arm,
        calls=found.n,
        blocks=len(blocks),
        minimum_ns=found.minimum,
        q1_ns=found.q1,
        median_ns=found.median,
        q3_ns=found.q3,
        mad_ns=found.mad,
        outliers=found.outliers,
        held_up=held_up,
        time_ns=median(blocks),
        typical_ns=median_interval(blocks),
        ratio=ratio,
        speed=speed,
    )


def _json(interval: Interval | None) -> dict[str, float] | None:
    return asdict(interval) if interval else None
