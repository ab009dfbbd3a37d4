"""Rows of traced turns as the GPU's device gives them."""

from __future__ import annotations

from typing import Any

from harness.devices import END, EVICT, LEAD_IN, STRIDED_COPY
from harness.referee.audit.traced_turn import AroundCalls, OutputSize
from harness.sandbox.wire.device import KernelRun

OUTPUTS = (OutputSize(1024, 4),)
OUTPUT_BYTES = 4096
LARGE = OutputSize(2**24, 4)
"""Stored in one piece in 45 µs, element by element in 450 (H100)."""
COPY_BYTES_PER_S = 3.0e12
US = 1_000


def kernel(start_us: int, us: int, name: str = "own_kernel", stream: int = 7) -> KernelRun:
    return KernelRun(name, start_us * US, (start_us + us) * US, stream, "kernel")


def move(start_us: int, us: int, nbytes: int, kind: str = "copy") -> KernelRun:
    assert kind in ("copy", "fill")
    return KernelRun(
        f"{kind} of {nbytes} bytes", start_us * US, (start_us + us) * US, 7, "copy" if kind == "copy" else "fill"
    )


def marked(start_us: int, us: int) -> list[KernelRun]:
    """What the device itself does around a call of so many µs: poison, lead-in, mark, and the copy of the output."""
    return [
        move(start_us - 110, 5, OUTPUT_BYTES, "fill"),
        KernelRun(LEAD_IN, (start_us - 100) * US, start_us * US, 7, "kernel"),
        KernelRun(END, (start_us + us) * US, (start_us + us + 1) * US, 7, "fill"),
        move(start_us + us + 5, 3, OUTPUT_BYTES),
    ]


def around(*outputs: OutputSize, is_idle: bool = False) -> AroundCalls:
    return AroundCalls(outputs or OUTPUTS, is_idle, COPY_BYTES_PER_S)


def call_of(
    start_us: int, us: int, *stored: int | tuple[int, ...], evict_us: int = 0, stream: int = 7
) -> list[KernelRun]:
    """As the device takes a call, with its outputs stored by kernels of so many µs, or by copies of so many bytes
    each. `evict_us`: on an idle device."""
    rows = [_row("fill of 4096 bytes", start_us - 210 - evict_us, 5, stream, "fill")]
    if evict_us:
        rows.append(_row(EVICT, start_us - 200 - evict_us, evict_us, stream))
    rows += [_row(LEAD_IN, start_us - 100, 100, stream), _row(END, start_us + us, 1, stream, "fill")]
    at = start_us + us + 2
    for one in stored:
        pieces = [(f"copy of {nbytes} bytes", 5, "copy") for nbytes in one] if isinstance(one, tuple) else []
        for name, piece_us, kind in pieces or [(STRIDED_COPY, one, "kernel")]:
            rows.append(_row(name, at, piece_us, stream, kind))
            at += piece_us
    return rows


def _row(name: str, start_us: int, us: int, stream: int, kind: Any = "kernel") -> KernelRun:
    return KernelRun(name, start_us * US, (start_us + us) * US, stream, kind)
