"""The doctor's report on a machine: findings, and the device's ceilings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from harness.model.ceilings import ARITHMETICS, Ceilings
from harness.model.environment import MachineFinding
from harness.model.record import as_json
from harness.reports.blocks import Block, Column, Line, Span, Table, Tone, number
from harness.reports.numbers import format_moment, format_rate
from harness.reports.terminal import reporting

_TONES: dict[str, Tone] = {"good": "good", "warning": "unsure", "missing": "bad"}


@reporting
def findings_table(findings: Sequence[MachineFinding]) -> Iterator[Block]:
    rows: list[tuple[str | Span, ...]] = []
    for one in findings:
        rows.append((one.name, Span(one.state, _TONES[one.state]), one.detail))
        rows += [("", "", f"→ {one.remedy}")] if one.remedy else []
    yield Table((Column("finding"), Column("state"), Column("detail")), rows)


def ceilings_json(ceilings: Ceilings, was_cached: bool, path: str) -> dict[str, Any]:
    """The record, with whether an earlier run measured it, and the file that keeps it."""
    return {"ceilings": as_json(ceilings), "was_cached": was_cached, "file": path}


@reporting
def ceilings_table(ceilings: Ceilings, was_cached: bool) -> Iterator[Block]:
    """Every rate with its unit; of memory also the share of what its clock and bus allow."""
    measured = f"measured {format_moment(ceilings.measured_at)} UTC with torch {ceilings.torch}"
    yield Line((Span(ceilings.device, "strong"), f", driver {ceilings.driver}"))
    yield Line(f"{measured}; --again measures anew" if was_cached else measured, "faint")
    yield Table((Column("memory"), number("rate"), number("of peak")), list(_memory(ceilings)))
    yield Line("")
    yield Table((Column("arithmetic"), number("measured"), number("in theory")), list(_arithmetic(ceilings)))
    if ceilings.theory:
        yield Line(f"in theory: {ceilings.multiprocessors} multiprocessors at {ceilings.sm_mhz} MHz")


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
            yield f"matrix product, {name}{strict}", _tera(rates[name], unit), most
    if ceilings.vector_operations_per_s is not None:
        yield "multiply-adds in registers, float32", _tera(ceilings.vector_operations_per_s, "FLOP/s"), ""


def _tera(rate: float, unit: str) -> str:
    """All under one prefix, to be compared at a glance."""
    return f"{rate / 1e12:.{1 if rate < 1e14 else 0}f} T{unit}"
