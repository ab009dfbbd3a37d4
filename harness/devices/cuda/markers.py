"""What the worker's device itself leaves in a trace: kernels of ours, and a fill of a peculiar size, by which it
shows where each call began and ended."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from harness.sandbox.wire.device import KernelRun

END_BYTES = 5009
"""A fill just behind what is timed. A prime, which hardly anybody fills."""

END = f"fill of {END_BYTES} bytes"
LEAD_IN, EVICT = "harness_lead_in", "harness_evict"
"""The call begins when the former ends."""
STRIDED_COPY = "harness_strided_copy"
_NAME_CHARS = 2000
"""Of a row's name, which the compiler makes of all template arguments: those of torch's have up to some hundreds."""
_ROW_CHARS = 150
"""Of a row's numbers, as JSON."""


def with_calls(rows: Sequence[KernelRun]) -> tuple[KernelRun, ...]:
    """Rows in order of time, each with the number of the call that had begun last before it."""
    found, call = [], -1
    for row in rows:
        if row.name == LEAD_IN:
            call += 1
        found.append(dataclasses.replace(row, call=call) if call >= 0 else row)
    return tuple(found)


def bounded(rows: Sequence[KernelRun], most_chars: int) -> tuple[KernelRun, ...]:
    """Rows in order of time, of which those that ran inside a call are left out once the names add up to `most_chars`:
    what no call accounts for, and the marks, always stay. Names are cut, or a few kernels with endless ones would leave
    out all that follow."""
    kept, chars, is_inside = [], 0, False
    for row in (dataclasses.replace(row, name=row.name[:_NAME_CHARS]) for row in rows):
        is_inside = row.name != END and (is_inside or row.name == LEAD_IN)
        chars += len(row.name) + _ROW_CHARS
        if chars <= most_chars or not is_inside or row.name == LEAD_IN:
            kept.append(row)
    return tuple(kept)
