"""What the clock of a timed call shows for nothing at all, and for a kernel that does nothing."""

from __future__ import annotations

import statistics
from collections.abc import Callable

from harness.devices.cuda.lead_in import LeadIn
from harness.devices.cuda.meter import Meter, clock_ns
from harness.model.timing import Floors

_SAMPLES = 50
_HOLD_NS = 300_000


def measure_floors() -> Floors:
    """Medians. Raises: DeviceFault, torch.OutOfMemoryError."""
    meter = Meter()
    lead_in, stream = LeadIn(meter), meter.stream()
    return Floors(
        events_ns=_median_ns(meter, lead_in, _nothing, stream),
        kernel_ns=_median_ns(meter, lead_in, lead_in.nothing, stream),
        idle_ns=_median_until_idle_ns(meter, lead_in, stream),
    )


def _nothing(stream: int) -> None:
    """Not even a kernel."""


def _median_ns(meter: Meter, lead_in: LeadIn, work: Callable[[int], None], stream: int) -> float:
    samples = []
    for _ in range(_SAMPLES):
        lead_in.clear_cache(_HOLD_NS, stream)
        meter.record_start(stream)
        work(stream)
        meter.record_end(stream)
        meter.await_idle()
        samples.append(meter.elapsed_ns())
    return statistics.median(samples)


def _median_until_idle_ns(meter: Meter, lead_in: LeadIn, stream: int) -> float:
    samples = []
    for _ in range(_SAMPLES):
        lead_in.clear_cache(0, stream)
        meter.await_idle()
        started = clock_ns()
        lead_in.nothing(stream)
        meter.await_idle()
        samples.append(clock_ns() - started)
    return statistics.median(samples)
