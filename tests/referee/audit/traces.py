"""Rows of traced turns as the GPU's device gives them."""

from __future__ import annotations

from harness.backends.base import KernelRun
from harness.backends.cuda.markers import BEGIN, END, EVICT

OUTPUT_BYTES = 4096
US = 1_000


def kernel(start_us: int, us: int, name: str = "own_kernel", stream: int = 7) -> KernelRun:
    return KernelRun(name, start_us * US, (start_us + us) * US, stream, "kernel")


def move(start_us: int, us: int, nbytes: int, kind: str = "copy") -> KernelRun:
    assert kind in ("copy", "fill")
    return KernelRun(
        f"{kind} of {nbytes} bytes", start_us * US, (start_us + us) * US, 7, "copy" if kind == "copy" else "fill"
    )


def marked(start_us: int, us: int) -> list[KernelRun]:
    """What the device itself does around a call of so many µs: poison, flush, marks, and the copy of the output."""
    return [
        move(start_us - 110, 5, OUTPUT_BYTES, "fill"),
        KernelRun(EVICT, (start_us - 100) * US, (start_us - 10) * US, 7, "kernel"),
        KernelRun(BEGIN, (start_us - 2) * US, start_us * US, 7, "fill"),
        KernelRun(END, (start_us + us) * US, (start_us + us + 1) * US, 7, "fill"),
        move(start_us + us + 5, 3, OUTPUT_BYTES),
    ]
