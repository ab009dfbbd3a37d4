"""Reading the Chrome trace that torch's profiler writes: what the device ran, and when it ran nothing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Literal

from harness.model.instruments import DeviceTimeline, TimelineRow
from harness.plain_file import parse_json

_KINDS: dict[str, Literal["kernel", "copy", "fill"]] = {
    "kernel": "kernel",
    "gpu_memcpy": "copy",
    "gpu_memset": "fill",
}
"""The kinds by category (libkineto's ActivityType.cpp)."""
_NS_PER_TICK = 1_000
"""Times in a Chrome trace are microseconds, with three digits behind the point."""
_NAME_CHARS = 2_000


class NoTrace(ValueError):
    """The file is no trace: the process that writes it holds a solution, which may write there too."""


@dataclass(frozen=True)
class _TraceRow:
    name: str
    kind: Literal["kernel", "copy", "fill"]
    start_ns: float
    duration_ns: float

    @property
    def end_ns(self) -> float:
        return self.start_ns + self.duration_ns


def read_timeline(trace: bytes, calls: int) -> DeviceTimeline:
    """The device's part of a trace over so many calls. Raises: NoTrace."""
    try:
        events = parse_json(trace)["traceEvents"]
        runs = [_run(event) for event in events if isinstance(event, dict) and event.get("cat") in _KINDS]
    except (ValueError, KeyError, TypeError) as error:
        raise NoTrace(f"no Chrome trace: {type(error).__name__}: {error}") from None
    pauses = _pauses(runs)
    span_ns = max((run.end_ns for run in runs), default=0.0) - min((run.start_ns for run in runs), default=0.0)
    return DeviceTimeline(
        calls=calls,
        rows=_rows(runs),
        span_ns=span_ns,
        busy_ns=span_ns - sum(pauses),
        gaps=len(pauses),
        longest_gap_ns=max(pauses, default=0.0),
    )


def _run(event: dict[str, Any]) -> _TraceRow:
    start, duration = float(event["ts"]), float(event["dur"])
    if not (math.isfinite(start) and math.isfinite(duration) and duration >= 0):
        raise ValueError(f"a run from {start} of {duration}")
    name = str(event["name"])[:_NAME_CHARS]
    return _TraceRow(name, _KINDS[event["cat"]], start * _NS_PER_TICK, duration * _NS_PER_TICK)


def _rows(runs: Sequence[_TraceRow]) -> tuple[TimelineRow, ...]:
    together: dict[tuple[str, Literal["kernel", "copy", "fill"]], list[float]] = {}
    for run in runs:
        together.setdefault((run.name, run.kind), []).append(run.duration_ns)
    rows = [
        TimelineRow(name, kind, len(times), sum(times), min(times), max(times))
        for (name, kind), times in together.items()
    ]
    return tuple(sorted(rows, key=lambda row: -row.total_ns))


def _pauses(runs: Sequence[_TraceRow]) -> list[float]:
    """Lengths of the times between the first beginning and the last end in which nothing ran, on no stream."""
    in_order = sorted(runs, key=lambda run: run.start_ns)
    ends = accumulate((run.end_ns for run in in_order), max)
    return [run.start_ns - end for end, run in zip(ends, in_order[1:], strict=False) if run.start_ns > end]
