"""The device's timeline out of a Chrome trace."""

from __future__ import annotations

import json
from typing import Any

import pytest

from harness.model.instruments import DeviceTimeline, TimelineRow
from harness.tools.chrome_trace import NoTrace, read_timeline


def event(name: str, start_us: float, length_us: float, category: str = "kernel", stream: int = 7) -> dict[str, Any]:
    args = {"stream": stream, "device": 0, "grid": [4, 1, 1]}
    return {
        "ph": "X",
        "cat": category,
        "name": name,
        "pid": 0,
        "tid": stream,
        "ts": start_us,
        "dur": length_us,
        "args": args,
    }


def trace(*events: dict[str, Any]) -> bytes:
    """As torch 2.11 writes it, with its times: microseconds since a base."""
    whole = [
        {"ph": "M", "name": "process_name", "pid": 0, "args": {"name": "python3"}},
        {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 0.0, "dur": 5000.0},
        *events,
    ]
    return json.dumps({"schemaVersion": 1, "baseTimeNanoseconds": 1790857026000000000, "traceEvents": whole}).encode()


def test_launches_of_a_kernel_are_one_row_and_the_longest_comes_first() -> None:
    timeline = read_timeline(
        trace(event("a", 100, 10), event("b", 110, 50), event("a", 160, 14), event("copy", 174, 1, "gpu_memcpy")),
        calls=2,
    )
    assert timeline.rows == (
        TimelineRow("b", "kernel", 1, 50_000, 50_000, 50_000),
        TimelineRow("a", "kernel", 2, 24_000, 10_000, 14_000),
        TimelineRow("copy", "copy", 1, 1_000, 1_000, 1_000),
    )
    assert (timeline.calls, timeline.span_ns, timeline.busy_ns, timeline.gaps) == (2, 75_000, 75_000, 0)


def test_pauses_are_what_no_stream_fills() -> None:
    timeline = read_timeline(
        trace(
            event("long", 0, 100),
            event("beside it", 20, 10, stream=8),
            event("over its end", 90, 30, stream=8),
            event("late", 125, 5),
            event("last", 150, 10, "gpu_memset"),
        ),
        calls=1,
    )
    assert (timeline.span_ns, timeline.busy_ns, timeline.idle_ns) == (160_000, 135_000, 25_000)
    assert (timeline.gaps, timeline.longest_gap_ns) == (2, 20_000)


def test_the_order_in_the_file_does_not_matter() -> None:
    assert read_timeline(trace(event("b", 50, 10), event("a", 0, 10)), calls=1).longest_gap_ns == 40_000


def test_a_call_that_launches_nothing_has_an_empty_timeline() -> None:
    assert read_timeline(trace(), calls=3) == DeviceTimeline(3, (), 0, 0, 0, 0)


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"not JSON",
        b"[]",
        b'{"traceEvents": 3}',
        b'{"traceEvents": [{"cat": "kernel"}]}',
        b'{"traceEvents": [{"cat": "kernel", "name": "k", "ts": "soon", "dur": 1}]}',
        b'{"traceEvents": [{"cat": "kernel", "name": "k", "ts": 1, "dur": -1}]}',
        b'{"traceEvents": [{"cat": "kernel", "name": "k", "ts": NaN, "dur": 1}]}',
        b"[" * 100_000,
    ],
)
def test_what_is_no_trace_is_refused(text: bytes) -> None:
    """The process that writes it holds a solution."""
    with pytest.raises(NoTrace):
        read_timeline(text, calls=1)
