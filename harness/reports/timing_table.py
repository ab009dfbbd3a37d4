"""A timing for the terminal: what each arm took, what they make of each other, and under which circumstances."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Literal

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from harness.records.timing import PeakMemory, Timing
from harness.reports.numbers import format_ms, format_speedup
from harness.reports.timing_numbers import ArmNumbers, arm_numbers
from harness.reports.untrusted import one_line


def timing_report(timing: Timing) -> RenderableType:
    rows = arm_numbers(timing)
    return Group(_times(rows), Text(), _ratios(timing, rows), Text(), *_circumstances(timing))


def _times(rows: list[ArmNumbers]) -> Table:
    """A row per arm, under the name of its metric."""
    table = _table("arm", right=("time [95 %]", "quartiles", "MAD", "far out", "calls"))
    for metric, group in groupby(rows, key=lambda row: row.metric):
        arms = list(group)
        unit: _Unit = "ms" if max(row.median_ns for row in arms) >= _IN_MS else "µs"
        table.add_row(Text(f"{metric}, {unit}", style="bold"))
        for row in arms:
            table.add_row(
                f"  {row.arm}",
                _time(row, unit),
                f"{_shown(row.q1_ns, unit)} to {_shown(row.q3_ns, unit)}",
                f"{100 * row.mad_ns / row.median_ns:.2f} %" if row.median_ns else "—",
                str(row.outliers),
                str(row.calls),
            )
    return table


_Unit = Literal["ms", "µs"]
_IN_MS = 100_000


def _time(row: ArmNumbers, unit: _Unit) -> str:
    """The median of the blocks, with its interval where there are enough."""
    if row.typical_ns is None:
        return _shown(row.time_ns, unit)
    typical = row.typical_ns
    return f"{_shown(typical.estimate, unit)} [{_shown(typical.low, unit)}, {_shown(typical.high, unit)}]"


def _shown(ns: float, unit: _Unit) -> str:
    return format_ms(ns if unit == "ms" else 1000 * ns)


def _ratios(timing: Timing, rows: list[ArmNumbers]) -> Table:
    """What each baseline takes over what the solution takes, by metric; and the baseline over itself."""
    table = _table("metric", "ratio", right=("ratio [95 %]",), last="")
    for row in rows:
        if row.arm == "solution":
            continue
        of = f"{timing.baselines[0]} / control (A/A)" if row.arm == "control" else f"{row.arm} / solution"
        if row.ratio is not None or row.metric != "launch":
            table.add_row(row.metric, of, format_speedup(row.ratio), row.speed or "")
    return table


def _circumstances(timing: Timing) -> Iterator[Text]:
    yield Text(f"equal is what differs by less than {100 * timing.delta:.1f} %", style="dim")
    if timing.processes > 1:
        shown = f"{timing.processes} processes count alike; the interval of a ratio holds the median of each"
        yield Text(shown, style="dim")
    if timing.speedup is not None:
        share = f"±{100 * timing.between_workers:.2f} %"
        yield Text(f"workers that run the same may differ by {share}: a part of the interval", style="dim")
    if timing.is_averaged:
        left_out = ", ".join(f"{timing.held_up(arm)} of {arm}" for arm in timing.arms)
        shown = f"calls are short: a block's value is the mean of its calls but for those held up ({left_out})"
        yield Text(shown, style="dim")
    if timing.floors:
        floors = timing.floors
        shown = f"floors: {_us(floors.events_ns)} for nothing, {_us(floors.kernel_ns)} for an empty kernel"
        shown += f", {_us(floors.idle_ns)} by the host's clock until idle" if floors.idle_ns is not None else ""
        yield Text(shown, style="dim")
    for peak in timing.memory:
        yield Text(f"peak memory of {peak.arm}: {_memory(peak)}", style="dim")
    if gpu := gpu_words(timing):
        yield Text(gpu, style="dim")
    for reason in timing.noises:
        yield Text(f"noisy: {one_line(reason)}", style="yellow")
    for remark in timing.oddities:
        yield Text(f"remark: {one_line(remark)}", style="dim")


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
    whole = "" if peak.process_bytes is None else f", {_mb(peak.process_bytes)} of the whole process"
    return f"{_mb(peak.torch_bytes)} by torch{whole}"


def _mb(nbytes: int) -> str:
    return f"{nbytes / 1e6:.1f} MB"


def _us(ns: float) -> str:
    return f"{ns / 1e3:.2f} µs"


def _span(values: list[int]) -> str:
    low, high = min(values), max(values)
    return f"{low}" if low == high else f"{low} to {high}"


def _table(*left: str, right: tuple[str, ...], last: str | None = None) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in left:
        table.add_column(column, overflow="fold")
    for column in right:
        table.add_column(column, justify="right", overflow="fold")
    if last is not None:
        table.add_column(last)
    return table
