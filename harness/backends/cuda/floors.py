"""What the clock of a timed call shows for nothing at all, and for a kernel that does nothing."""

from __future__ import annotations

import statistics
from collections.abc import Callable

from harness.backends.cuda.lead_in import LeadIn
from harness.backends.cuda.meter import Meter

_SAMPLES = 50
_DELAY_NS = 50_000


def measure_floors() -> tuple[float, float]:
    """Medians in ns: of an empty pair of events, and of a pair around an empty kernel. Raises: DeviceFault,
    torch.OutOfMemoryError."""
    meter = Meter()
    lead_in, stream = LeadIn(meter), meter.stream()
    return tuple(_median_ns(meter, lead_in, work, stream) for work in (_nothing, lead_in.nothing))  # type: ignore[return-value]


def _nothing(stream: int) -> None:
    """Not even a kernel."""


def _median_ns(meter: Meter, lead_in: LeadIn, work: Callable[[int], None], stream: int) -> float:
    samples = []
    for _ in range(_SAMPLES):
        lead_in.evict(stream)
        lead_in.delay(_DELAY_NS, stream)
        meter.record_start(stream)
        work(stream)
        meter.record_end(stream)
        meter.await_idle()
        samples.append(meter.elapsed_ns())
    return statistics.median(samples)
