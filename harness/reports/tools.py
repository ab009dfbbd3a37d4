"""The findings of NVIDIA's tools: a profile of one arm, and what compute-sanitizer found."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from harness.model.instruments import (
    WHAT_IT_FINDS,
    DeviceTimeline,
    KernelCounters,
    Profile,
    SanitizerFinding,
    Sanitizing,
    ToolRun,
)
from harness.model.plural import several
from harness.model.record import as_json
from harness.reports.blocks import Block, Column, Line, Pairs, Prose, Section, Span, Table, Tone, number
from harness.reports.numbers import format_ms, format_rate
from harness.reports.terminal import reporting
from harness.reports.untrusted import cut

_STALLS = 4
_FEW_STALLS = 0.03
"""Shares below this say nothing."""
_ROWS = 20
_ALL_WARPS = 99.9
_NAME_CHARS = 121
"""A kernel of cuDNN's has 200; the JSON has them all."""


def profile_json(profile: Profile) -> dict[str, Any]:
    """The record, with the timeline's conclusion."""
    record = as_json(profile)
    record["timeline"]["idle_ns"] = profile.timeline.idle_ns
    return record


@reporting
def profile_report(profile: Profile) -> Iterator[Block]:
    """A few lines for each kernel, then the timeline, then where the files are."""
    name = f"{profile.problem}/{profile.solution or 'reference'}"
    yield Line((Span(name, "strong"), f", case {profile.case}, on {profile.gpu}"))
    for _, group in groupby(profile.kernels, key=lambda one: (one.kernel, one.grid, one.block)):
        yield _kernel(list(group))
    yield Line("")
    yield from _timeline(profile.timeline)
    for remark in profile.remarks:
        yield Line(f"remark: {remark}", "unsure")
    yield Pairs(list(profile.files.items()))
    yield Line("seen inside of the solution's own process: nothing here decides a verdict or a speed", "faint")


def _kernel(launches: Sequence[KernelCounters]) -> Section:
    """Launches in a row that are alike, by the one in the middle of their durations."""
    kernel = sorted(launches, key=lambda one: one.duration_ns)[len(launches) // 2]
    times = f"  ({len(launches)} launches in a row, the middle one)" if len(launches) > 1 else ""
    title = (Span(cut(kernel.kernel, _NAME_CHARS), "strong"), Span(times, "faint"))
    return Section(title, [Pairs(list(_facts(kernel)))])


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
        read, written = (format_rate(count, "B") for count in (kernel.dram_read_bytes, kernel.dram_written_bytes))
        parts.append(f"{read} read, {written} written")
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
    return ", ".join(f"{stall.reason} {stall.share * 100:.0f} %" for stall in shown)


def _timeline(timeline: DeviceTimeline) -> Iterator[Block]:
    idle = timeline.idle_ns / timeline.span_ns if timeline.span_ns else 0.0
    longest = f"the longest {timeline.longest_gap_ns / 1e3:.1f} µs"
    gaps = f", in {several(timeline.gaps, 'gap')}, {longest}" if timeline.gaps else ""
    took = format_ms(timeline.span_ns)
    yield Line(f"timeline of {several(timeline.calls, 'call')}: {took} ms, {idle * 100:.1f} % of it idle{gaps}")
    if timeline.rows:
        busy = sum(row.total_ns for row in timeline.rows) or 1.0
        heads = ("launches", "ms", "share", "shortest µs", "longest µs")
        rows = [
            (
                cut(row.name, _NAME_CHARS),
                str(row.launches),
                format_ms(row.total_ns),
                f"{row.total_ns / busy * 100:.1f} %",
                f"{row.shortest_ns / 1e3:.1f}",
                f"{row.longest_ns / 1e3:.1f}",
            )
            for row in timeline.rows
        ]
        yield Table((Column("kernel", is_name=True), *map(number, heads)), rows, _ROWS)


def _size(three: tuple[int, int, int]) -> str:
    return "×".join(str(number) for number in three)


def _count(number: int) -> str:
    """'210 million', '3,117'."""
    return f"{number / 1e6:,.0f} million" if number >= 10_000_000 else f"{number:,}"


_LONGEST_KERNEL = 200
_TEXT_CHARS = 160


def sanitizing_json(sanitizing: Sanitizing) -> dict[str, Any]:
    """The record, with its conclusion."""
    return {**as_json(sanitizing), "is_clean": sanitizing.is_whole and not sanitizing.own}


@reporting
def sanitizing_report(sanitizing: Sanitizing) -> Iterator[Block]:
    """A row for each tool, then each finding."""
    name = f"{sanitizing.problem}/{sanitizing.solution or 'reference'}"
    answer = Span("clean", "good") if sanitizing.is_whole else Span("not looked through", "unsure")
    if sanitizing.own:
        answer = Span("has faults", "bad")
    yield Line((Span(name, "strong"), " ", answer, f", case {sanitizing.case}, on {sanitizing.gpu}"))
    columns = (Column("tool"), number("errors"), number("s"), Column("looks for"))
    yield Table(columns, [(run.tool, _errors(run), f"{run.seconds:.0f}", _remark(run)) for run in sanitizing.runs])
    for finding in sanitizing.own:
        yield _finding(finding, "bad")
    if sanitizing.foreign:
        yield Line("not in the solution's own kernels, and not held against it:", "faint")
        for finding in sanitizing.foreign:
            yield _finding(finding, "faint")
    yield Line((Span("logs: ", "faint"), ", ".join(run.log for run in sanitizing.runs)))


def _errors(run: ToolRun) -> Span:
    if run.errors is None:
        return Span("?", "unsure")
    return Span(f"{run.errors:,}", "bad" if run.errors else "good")


def _remark(run: ToolRun) -> Span:
    if run.complaint is not None:
        return Span(run.complaint, "unsure")
    left = f"; {run.unprinted:,} more than it lists" if run.unprinted else ""
    return Span(f"{WHAT_IT_FINDS[run.tool]}{left}", "faint")


def _finding(finding: SanitizerFinding, tone: Tone) -> Section:
    size = f" of {finding.nbytes} bytes" if finding.nbytes else ""
    times = f"  ×{finding.count:,}" if finding.count > 1 else ""
    title = (Span(f"{finding.tool}: {finding.kind}{size}", tone), Span(times, "strong"))
    return Section(title, list(_places(finding)))


def _places(finding: SanitizerFinding) -> Iterator[Line | Prose]:
    where = f" at {finding.source}" if finding.source else ""
    if finding.kernel or where:
        of_kernel = f" in {finding.kernel[:_LONGEST_KERNEL]}" if finding.kernel else ""
        yield Line(f"{of_kernel}{where}".strip())
    if finding.text:
        yield Prose(f"    {finding.text[:_TEXT_CHARS].strip()}", "strong")
    if finding.thread and finding.block:
        first = "first " if finding.count > 1 else ""
        yield Line(f"{first}by thread {finding.thread} of block {finding.block}")
    for detail in finding.details:
        yield Line(detail, "faint")
