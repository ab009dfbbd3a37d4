"""Evidence of a deception, and the kernels that ran."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from harness.model.check import Evidence
from harness.model.plural import several
from harness.model.trace import Trace, TracedKernel
from harness.reports.blocks import Block, Column, Line, Pairs, Span, Table, number
from harness.reports.numbers import format_ms, format_own_share
from harness.reports.untrusted import one_line

_UNITS = {
    "_ns_per_call": ("ms per call", 1e6),
    "_bytes_per_s": ("GB/s", 1e9),
    "_per_s": ("per s", 1.0),
    "_ns": ("ms", 1e6),
    "_bytes": ("MB", 1e6),
    "_s": ("s", 1.0),
}
"""Units by the end of a number's name, the longest ends first."""
_NAME_LENGTH = 60
_MOST_KERNELS = 12


def evidence_blocks(evidence: Sequence[Evidence]) -> Iterator[Block]:
    """Each check, what it saw, and its numbers."""
    for one in evidence:
        yield Line((Span(one.check, "strong"), f": {one.observed}"))
        yield Pairs(numbers_of(one))
        yield Line(f"'harness explain {one.check}' says how it is seen", "faint")


def numbers_of(evidence: Evidence) -> list[tuple[str, str]]:
    """Each number under its name, in the unit that its name ends with: ('claimed', '0.1200 ms')."""
    return [_quantity(name, value) for name, value in evidence.numbers.items()]


def trace_blocks(trace: Trace) -> list[Block]:
    """The kernels that ran, the longest first."""
    heads = (Column("kernel", is_name=True), Column("origin"), number("launches"), number("ms"), number("share"))
    return [Line(trace_words(trace)), Table(heads, kernel_rows(trace.kernels), _MOST_KERNELS)]


def kernel_rows(kernels: Sequence[TracedKernel]) -> list[tuple[str, str, str, str, str]]:
    """Name, origin, launches, time in ms and its share; '—' where nothing is timed."""
    total = sum(kernel.ns for kernel in kernels)
    ordered = sorted(kernels, key=lambda kernel: (-kernel.ns, -kernel.launches, kernel.name))
    return [
        (
            short_name(kernel.name),
            kernel.origin,
            str(kernel.launches),
            format_ms(kernel.ns) if total else "—",
            f"{100 * kernel.ns / total:.1f} %" if total else "—",
        )
        for kernel in ordered
    ]


def trace_words(trace: Trace) -> str:
    """'3 calls of case full; 98.2 % of the device's time in kernels of the solution's own'."""
    calls = f"{several(trace.calls, 'call')} of case {trace.case}"
    if trace.own_share is not None:
        return f"{calls}; {format_own_share(trace.own_share)} of the device's time in kernels of the solution's own"
    own = sum(kernel.launches for kernel in trace.kernels if kernel.origin == "own")
    computing = sum(kernel.launches for kernel in trace.kernels if kernel.origin != "move")
    launches = several(computing, "launch", "launches")
    return f"{calls}; {own} of {launches} that compute are of the solution's own kernels"


def short_name(kernel: str) -> str:
    """Leave out its parameters, 'void' and '(anonymous namespace)'; the middle of a very long one is left out."""
    plain = one_line(kernel).removeprefix("void ").replace("(anonymous namespace)::", "")
    name = plain.partition("(")[0] or plain
    return name if len(name) <= _NAME_LENGTH else f"{name[: _NAME_LENGTH - 21]}…{name[-20:]}"


def _quantity(name: str, value: float) -> tuple[str, str]:
    for ending, (unit, size) in _UNITS.items():
        if name.endswith(ending):
            shown = format_ms(value) if unit.startswith("ms") and value >= 0 else f"{value / size:.4g}"
            return name.removesuffix(ending).replace("_", " "), f"{shown} {unit}"
    return name.replace("_", " "), f"{value:.6g}"
