"""A timing: what each arm took, what they make of each other, and under which circumstances."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from statistics import median
from typing import Any, Literal

from harness.model.arms import ArmName, Metric
from harness.model.evaluation import Evaluation
from harness.model.record import as_json
from harness.model.spread import fences, median_deviation, quartiles
from harness.model.statistics import Interval, SpeedVerdict, median_interval
from harness.model.timing import PeakMemory, Timing, fastest_baseline
from harness.reports.baselines import remarks_on_baselines
from harness.reports.blocks import Block, Column, Line, Span, Table, number
from harness.reports.numbers import format_ms, format_speedup

_IN_MS = 100_000


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


def timing_blocks(evaluation: Evaluation) -> list[Block]:
    """All arms with their ratios and circumstances; which of several baselines is the fastest; what compiling took.
    Empty without a timing."""
    timing = evaluation.timing
    if timing is None:
        return []
    rows = arm_numbers(timing)
    blocks: list[Block] = [_times(rows), Line(""), _ratios(timing, rows), Line(""), *_circumstances(timing)]
    if evaluation.missed_precision:
        blocks.append(Line(evaluation.missed_precision, "faint"))
    if over := fastest_baseline(timing):
        blocks.append(Line(f"over the fastest baseline, {over.baseline}: {format_speedup(over.speedup)}"))
        blocks += [Line(f"not told apart from it: {', '.join(over.ties)}", "faint")] if over.ties else []
    return blocks + remarks_on_baselines([evaluation])


def timing_json(evaluation: Evaluation) -> dict[str, Any]:
    """Return what is derived from an evaluation's timing, as `harness show --statistics` prints it; {} without one."""
    timing = evaluation.timing
    if timing is None:
        return {}
    facts = {
        "case": timing.case,
        "metric": timing.metric,
        "speedup": timing.speedup,
        "speed": timing.speed,
        "delta": timing.delta,
        "precision": {"asked": evaluation.config.timing.precision, "missed": evaluation.missed_precision},
        "between_workers": timing.between_workers,
        "control": timing.control_ratio,
        "share_of_light": evaluation.share_of_light,
        "own_share": evaluation.own_share,
        "light_source": evaluation.light_source,
        "fastest_baseline": fastest_baseline(timing),
        "noise": timing.noises,
        "noise_over": {baseline: timing.noises_over(baseline) for baseline in timing.baselines[1:]},
        "remarks": timing.oddities,
        "floors": timing.floors,
        "processes": timing.processes,
        "arms": arm_numbers(timing),
        "peak_memory": timing.memory,
    }
    return as_json(facts)


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
    speed = timing.speed_over(baseline) if baseline and is_headline else None
    return _row(timing.metric, arm, timing.calls_ns(arm), timing.block_ns(arm), ratio, speed, timing.held_up(arm))


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
    q1, q3 = quartiles(calls)
    low, high = fences(calls)
    return ArmNumbers(
        metric=metric,
        arm=arm,
        calls=len(calls),
        blocks=len(blocks),
        minimum_ns=min(calls),
        q1_ns=q1,
        median_ns=median(calls),
        q3_ns=q3,
        mad_ns=median_deviation(calls),
        outliers=sum(not low <= ns <= high for ns in calls),
        held_up=held_up,
        time_ns=median(blocks),
        typical_ns=median_interval(blocks),
        ratio=ratio,
        speed=speed,
    )


def _times(rows: Sequence[ArmNumbers]) -> Table:
    """A row per arm, under the name of its metric. The time is the median of the blocks, with its interval where there
    are enough."""
    heads = ("time [95 %]", "quartiles", "MAD", "far out", "calls")
    written: list[Sequence[str | Span]] = []
    for metric, group in groupby(rows, key=lambda row: row.metric):
        arms = list(group)
        unit: _Unit = "ms" if max(row.median_ns for row in arms) >= _IN_MS else "µs"
        written.append((Span(f"{metric}, {unit}", "strong"), *[""] * len(heads)))
        for row in arms:
            time = _shown(row.time_ns, unit)
            if typical := row.typical_ns:
                shown = (_shown(ns, unit) for ns in (typical.estimate, typical.low, typical.high))
                time = "{} [{}, {}]".format(*shown)
            written.append(
                (
                    f" {row.arm}",
                    time,
                    f"{_shown(row.q1_ns, unit)} to {_shown(row.q3_ns, unit)}",
                    f"{100 * row.mad_ns / row.median_ns:.2f} %" if row.median_ns else "—",
                    str(row.outliers),
                    str(row.calls),
                )
            )
    return Table((Column("arm"), *(number(head, wraps=True) for head in heads)), written)


_Unit = Literal["ms", "µs"]


def _shown(ns: float, unit: _Unit) -> str:
    return format_ms(ns if unit == "ms" else 1000 * ns)


def _ratios(timing: Timing, rows: Sequence[ArmNumbers]) -> Table:
    """The time of each baseline over the solution's, by metric; and the baseline's over its own."""
    written = []
    for row in rows:
        if row.arm != "solution" and (row.ratio is not None or row.metric != "launch"):
            of = f"{timing.baselines[0]} / control (A/A)" if row.arm == "control" else f"{row.arm} / solution"
            written.append((row.metric, of, format_speedup(row.ratio), row.speed or ""))
    return Table((Column("metric"), Column("ratio"), number("ratio [95 %]"), Column("")), written)


def _circumstances(timing: Timing) -> Iterator[Line]:
    yield Line(f"equal is what differs by less than {100 * timing.delta:.1f} %", "faint")
    if timing.processes > 1:
        shown = f"{timing.processes} processes count alike; the interval of a ratio holds the median of each"
        yield Line(shown, "faint")
    if timing.speedup is not None:
        share = f"±{100 * timing.between_workers:.2f} %"
        yield Line(f"workers that run the same may differ by {share}: a part of the interval", "faint")
    if timing.is_averaged:
        left_out = ", ".join(f"{timing.held_up(arm)} of {arm}" for arm in timing.arms)
        shown = f"calls are short: a block's value is the mean of its calls but for those held up ({left_out})"
        yield Line(shown, "faint")
    if timing.floors:
        floors = timing.floors
        shown = f"timer overhead: {_us(floors.events_ns)} for nothing, {_us(floors.kernel_ns)} for an empty kernel"
        shown += f", {_us(floors.idle_ns)} by the host's clock until idle" if floors.idle_ns is not None else ""
        yield Line(shown, "faint")
    for peak in timing.memory:
        yield Line(f"peak memory of {peak.arm}: {_memory(peak)}", "faint")
    if gpu := gpu_words(timing):
        yield Line(gpu, "faint")
    for reason in timing.noises:
        yield Line(f"noisy: {reason}", "unsure")
    for remark in timing.oddities:
        yield Line(f"remark: {remark}", "faint")


def gpu_words(timing: Timing) -> str:
    """'SM clock 1755 to 1980 MHz, memory 2619 MHz, up to 412 W, 45 to 48 °C'; '' where nothing is known."""
    states = [turn.gpu for turn in timing.turns if turn.gpu]
    sm = [mhz for state in states if state.sm_mhz for mhz in state.sm_mhz]
    memory = [state.memory_mhz for state in states if state.memory_mhz is not None]
    power = [state.power_w for state in states if state.power_w is not None]
    heat = [state.temperature_c for state in states if state.temperature_c is not None]
    parts = [
        f"SM clock {_span(sm)} MHz" if sm else "",
        f"memory {_span(memory)} MHz" if memory else "",
        f"up to {max(power):.0f} W" if power else "",
        f"{_span(heat)} °C" if heat else "",
    ]
    return ", ".join(part for part in parts if part)


def _memory(peak: PeakMemory) -> str:
    whole = "" if peak.process_bytes is None else f", {peak.process_bytes / 1e6:.1f} MB of the whole process"
    return f"{peak.torch_bytes / 1e6:.1f} MB by torch{whole}"


def _us(ns: float) -> str:
    return f"{ns / 1e3:.2f} µs"


def _span(values: Sequence[int]) -> str:
    low, high = min(values), max(values)
    return f"{low}" if low == high else f"{low} to {high}"
