"""What NVIDIA's instruments saw of one arm, for people and for programs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from harness.records.profile import KernelCounters, Profile, Timeline
from harness.records.record import as_json
from harness.reports.numbers import format_ms
from harness.reports.untrusted import one_line

_STALLS = 4
_FEW_STALLS = 0.03
"""Shares below this tell nothing."""
_ROWS = 20
_ALL_WARPS = 99.9
_NAME_CHARS = 120
"""A kernel of cuDNN's has 200; the JSON has them all."""


def profile_json(profile: Profile) -> dict[str, Any]:
    """The record, with the timeline's conclusion."""
    record: dict[str, Any] = as_json(profile)
    record["timeline"]["idle_ns"] = profile.timeline.idle_ns
    return record


def profile_report(profile: Profile) -> RenderableType:
    """A few lines for each kernel, then the timeline, then where the files are."""
    return Group(*_parts(profile))


def _parts(profile: Profile) -> Iterator[RenderableType]:
    name = one_line(f"{profile.problem}/{profile.solution or 'reference'}")
    yield Text.assemble((name, "bold"), f", case {one_line(profile.case)}, on {one_line(profile.gpu)}")
    for _, group in groupby(profile.kernels, key=lambda one: (one.kernel, one.grid, one.block)):
        yield Text()
        yield from _kernel(list(group))
    yield Text()
    yield from _timeline(profile.timeline)
    for remark in profile.remarks:
        yield Text(f"remark: {one_line(remark)}", style="yellow")
    for what, path in profile.files.items():
        yield Text.assemble((f"{what}: ", "dim"), one_line(path), overflow="fold")
    yield Text("seen inside of the solution's own process: nothing here decides a verdict or a speed", style="dim")


def _kernel(launches: Sequence[KernelCounters]) -> Iterator[RenderableType]:
    """Of launches in a row that are alike, the one in the middle by duration."""
    kernel = sorted(launches, key=lambda one: one.duration_ns)[len(launches) // 2]
    times = f"  ({len(launches)} launches in a row, the middle one)" if len(launches) > 1 else ""
    yield Text.assemble((_name(kernel.kernel), "bold"), (times, "dim"))
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True, style="dim")
    table.add_column(overflow="fold")
    for label, value in _facts(kernel):
        table.add_row(label, value)
    yield Padding(table, (0, 0, 0, 2))


def _facts(kernel: KernelCounters) -> Iterator[tuple[str, str]]:
    """Labels and values; what wasn't counted is left out."""
    yield "launch", f"{_size(kernel.grid)} blocks of {_size(kernel.block)} threads"
    yield "duration", f"{format_ms(kernel.duration_ns)} ms"
    if kernel.dram_bytes_per_s is not None:
        yield "DRAM", _dram(kernel)
    if kernel.l2_hit_percent is not None:
        yield "L2 hits", f"{kernel.l2_hit_percent:.1f} %"
    if kernel.compute_percent is not None:
        tensor = "" if kernel.tensor_percent is None else f", tensor pipes {kernel.tensor_percent:.1f} %"
        yield "compute", f"{kernel.compute_percent:.1f} % of peak{tensor}"
    if kernel.achieved_occupancy_percent is not None:
        yield "occupancy", _occupancy(kernel)
    if kernel.registers_per_thread is not None:
        yield "registers", f"{kernel.registers_per_thread} a thread{_spills(kernel)}"
    if kernel.local_requests:
        yield "local memory", f"{_count(kernel.local_requests)} accesses of warps"
    if kernel.shared_bytes_per_block is not None:
        yield "shared memory", f"{kernel.shared_bytes_per_block / 1024:.1f} KiB a block{_conflicts(kernel)}"
    if kernel.stalls:
        yield "warps wait for", _stalls(kernel)


def _dram(kernel: KernelCounters) -> str:
    assert kernel.dram_bytes_per_s is not None
    parts = [f"{kernel.dram_bytes_per_s / 1e12:.3f} TB/s"]
    if kernel.dram_percent is not None:
        parts.append(f"{kernel.dram_percent:.1f} % of peak")
    if kernel.dram_read_bytes is not None and kernel.dram_written_bytes is not None:
        parts.append(f"{_bytes(kernel.dram_read_bytes)} read, {_bytes(kernel.dram_written_bytes)} written")
    return ", ".join(parts)


def _occupancy(kernel: KernelCounters) -> str:
    words = f"{kernel.achieved_occupancy_percent:.1f} % of the warps an SM holds"
    possible = kernel.theoretical_occupancy_percent
    if possible is None:
        return words
    if possible >= _ALL_WARPS:
        return f"{words}; nothing limits it"
    limits = f", by {' and '.join(kernel.occupancy_limits)}" if kernel.occupancy_limits else ""
    return f"{words}; limited to {possible:.1f} %{limits}"


def _spills(kernel: KernelCounters) -> str:
    if kernel.spill_store_bytes is None or kernel.spill_load_bytes is None:
        return ""
    if not kernel.spill_store_bytes and not kernel.spill_load_bytes:
        return ", none spilled"
    return f", spilled: {kernel.spill_store_bytes} bytes stored, {kernel.spill_load_bytes} loaded"


def _conflicts(kernel: KernelCounters) -> str:
    if kernel.bank_conflicts is None or not kernel.shared_passes:
        return ""
    share = kernel.bank_conflicts / kernel.shared_passes
    return f"; bank conflicts: {share:.1%} of {_count(kernel.shared_passes)} passes".replace("%", " %")


def _stalls(kernel: KernelCounters) -> str:
    shown = [stall for stall in kernel.stalls if stall.share >= _FEW_STALLS][:_STALLS] or kernel.stalls[:1]
    return ", ".join(f"{one_line(stall.reason)} {stall.share * 100:.0f} %" for stall in shown)


def _timeline(timeline: Timeline) -> Iterator[RenderableType]:
    idle = timeline.idle_ns / timeline.span_ns if timeline.span_ns else 0.0
    gaps = f", in {timeline.gaps} gaps, the longest {timeline.longest_gap_ns / 1e3:.1f} µs" if timeline.gaps else ""
    yield Text(
        f"timeline of {timeline.calls} calls: {format_ms(timeline.span_ns)} ms, {idle * 100:.1f} % of it idle{gaps}"
    )
    if not timeline.rows:
        return
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("kernel", overflow="fold")
    for column in ("launches", "ms", "share", "shortest µs", "longest µs"):
        table.add_column(column, justify="right", no_wrap=True)
    busy = sum(row.total_ns for row in timeline.rows) or 1.0
    for row in timeline.rows[:_ROWS]:
        table.add_row(
            _name(row.name),
            str(row.launches),
            format_ms(row.total_ns),
            f"{row.total_ns / busy * 100:.1f} %",
            f"{row.shortest_ns / 1e3:.1f}",
            f"{row.longest_ns / 1e3:.1f}",
        )
    yield table
    if len(timeline.rows) > _ROWS:
        yield Text(f"… and {len(timeline.rows) - _ROWS} more, see the trace", style="dim")


def _name(kernel: str) -> str:
    name = one_line(kernel)
    return name if len(name) <= _NAME_CHARS else f"{name[:_NAME_CHARS]}…"


def _size(three: tuple[int, int, int]) -> str:
    return "×".join(str(number) for number in three)


def _bytes(count: float) -> str:
    """'2.15 GB', decimal, as bandwidths are."""
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= size:
            return f"{count / size:.3g} {unit}" if count < 1000 * size else f"{count / size:.0f} {unit}"
    return f"{count:.0f} B"


def _count(number: int) -> str:
    """'210 million', '3,117'."""
    return f"{number / 1e6:,.0f} million" if number >= 10_000_000 else f"{number:,}"
