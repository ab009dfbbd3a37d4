"""What the worker's device itself leaves in a trace: kernels of ours, and fills of peculiar sizes that show where each
call began and ended."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from harness.backends.base import KernelRun

BEGIN_BYTES, END_BYTES = 5003, 5009
"""Fills just before and just behind what is timed. Primes, which hardly anybody fills."""

BEGIN, END = (f"fill of {size} bytes" for size in (BEGIN_BYTES, END_BYTES))
EVICT, DELAY = "harness_evict", "harness_delay"
STRIDED_COPY = "harness_strided_copy"
_ROW_CHARS = 150
"""Of a row's numbers, as JSON."""


def with_calls(rows: Sequence[KernelRun]) -> tuple[KernelRun, ...]:
    """Rows in order of time, each with the number of the call that had begun last before it."""
    found, call = [], -1
    for row in rows:
        if row.name == BEGIN:
            call += 1
        found.append(dataclasses.replace(row, call=call) if call >= 0 else row)
    return tuple(found)


def bounded(rows: Sequence[KernelRun], most_chars: int) -> tuple[KernelRun, ...]:
    """Rows in order of time, of which those that ran inside a call are left out once the names add up to `most_chars`:
    what no call accounts for, and the marks, always stay."""
    kept, chars, is_inside = [], 0, False
    for row in rows:
        is_inside = row.name != END and (is_inside or row.name == BEGIN)
        chars += len(row.name) + _ROW_CHARS
        if chars <= most_chars or not is_inside or row.name == BEGIN:
            kept.append(row)
    return tuple(kept)
