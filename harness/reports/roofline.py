"""A device's ceilings, and how near to them a call comes, for people and for programs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from harness.records.ceilings import ARITHMETICS, Ceilings, Source
from harness.records.evaluation import SpeedOfLight, Work
from harness.records.record import as_json
from harness.reports.numbers import format_ms, format_rate
from harness.reports.untrusted import one_line


def ceilings_json(ceilings: Ceilings, was_cached: bool, path: str) -> dict[str, Any]:
    """The record, with whether an earlier run measured it, and the file that keeps it."""
    return {"ceilings": as_json(ceilings), "was_cached": was_cached, "file": path}


def ceilings_table(ceilings: Ceilings, was_cached: bool) -> RenderableType:
    """Every rate with its unit; of memory also the share of what its clock and bus allow."""
    theory = ceilings.theory
    when = ceilings.measured_at[:16].replace("T", " ")
    measured = f"measured {when} UTC with torch {one_line(ceilings.torch)}"
    return Group(
        Text.assemble((one_line(ceilings.device), "bold"), f", driver {one_line(ceilings.driver)}"),
        Text(f"{measured}; --again measures anew" if was_cached else measured, style="dim"),
        _table("memory", "rate", "of peak", rows=_memory(ceilings)),
        Text(),
        _table("arithmetic", "measured", "in theory", rows=_arithmetic(ceilings)),
        *([Text(f"in theory: {ceilings.multiprocessors} multiprocessors at {ceilings.sm_mhz} MHz")] if theory else []),
    )


def work_words(work: Work) -> str:
    """'4.29 GB to move, 2.14 GB of them written; no operations counted'."""
    written = "" if work.written_bytes is None else f", {format_rate(work.written_bytes, 'B')} of them written"
    operations = "no operations counted" if work.operations is None else f"{format_rate(work.operations, 'FLOP')}"
    return f"{format_rate(work.least_bytes, 'B')} to move{written}; {operations}"


def light_words(light: SpeedOfLight) -> str:
    """'1.415 ms, by memory, in theory' and '11.40 ms, by float32 arithmetic, as measured (memory, in theory: 0.2550
    ms)'."""
    by_memory = f"memory, {_WHOSE[light.memory_source]}"
    if light.arithmetic_ns is None:
        return f"{format_ms(light.ns)} ms, by {by_memory}"
    by_arithmetic = f"{light.arithmetic} arithmetic, {_WHOSE[light.arithmetic_source]}"
    times = {by_memory: light.memory_ns, by_arithmetic: light.arithmetic_ns}
    (shorter, less_ns), (longer, _) = sorted(times.items(), key=lambda item: item[1])
    return f"{format_ms(light.ns)} ms, by {longer} ({shorter}: {format_ms(less_ns)} ms)"


_WHOSE: dict[Source, str] = {"theory": "in theory", "measured": "as measured"}


def _memory(ceilings: Ceilings) -> Iterator[tuple[str, str, str]]:
    peak = ceilings.memory_peak_bytes_per_s
    for name, rate in (
        ("read", ceilings.read_bytes_per_s),
        ("write", ceilings.write_bytes_per_s),
        ("copy, read + written", ceilings.copy_bytes_per_s),
    ):
        yield name, format_rate(rate, "B/s"), f"{100 * rate / peak:.0f} %" if peak else "—"
    if peak:
        yield "peak: clock × bus width", format_rate(peak, "B/s"), ""
    yield "copy within the L2 cache", format_rate(ceilings.cache_copy_bytes_per_s, "B/s"), ""
    yield "size of the L2 cache", f"{ceilings.cache_bytes / 2**20:.0f} MiB", ""


def _arithmetic(ceilings: Ceilings) -> Iterator[tuple[str, str, str]]:
    """Theory stands once for each arithmetic, at the clock that was seen."""
    rates, theory = ceilings.matrix_operations_per_s, ceilings.theory
    for name in (*ARITHMETICS, *sorted(set(rates) - set(ARITHMETICS))):
        if name in rates:
            strict = ", no tensor cores" if name == "float32" else ""
            unit = "OP/s" if name.startswith("int") else "FLOP/s"
            most = _tera(theory[name], unit) if name in theory else "—"
            yield f"matrix product, {one_line(name)}{strict}", _tera(rates[name], unit), most
    if ceilings.vector_operations_per_s is not None:
        yield "multiply-adds in registers, float32", _tera(ceilings.vector_operations_per_s, "FLOP/s"), ""


def _tera(rate: float, unit: str) -> str:
    """All under one prefix, to be compared at a glance."""
    return f"{rate / 1e12:.{1 if rate < 1e14 else 0}f} T{unit}"


def _table(*columns: str, rows: Iterator[tuple[str, ...]]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for number, column in enumerate(columns):
        table.add_column(column, justify="right" if number else "left", no_wrap=True)
    for row in rows:
        table.add_row(*row)
    return table
