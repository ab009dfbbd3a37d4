"""Reasons why a measurement is too uncertain to be ranked, and oddities that make it no less certain.

How often each reason is a false alarm is simulated in tests/model/test_false_alarms.py.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from statistics import median

from harness.model.arms import OF_STEPS, ArmName, Baseline
from harness.model.metric_timing import MetricTiming
from harness.model.spread import mann_kendall, theil_sen, two_levels
from harness.model.statistics import LEAST_BLOCKS

WIDEST = 0.05
"""Half an interval's width, relative to its estimate, above which a speed-up says too little to be ranked. A median in
ms that moved by more during the run says no more either."""
_CONTROL = 0.99
"""The confidence at which the A/A interval must hold 1; where no eight independent blocks are left for it, that of 95 %
as to scatter. One of 95 % leaves it out by a hair in one fair run of twenty. Simulated, of 1000 fair runs whose calls
jitter by 0.05 to 2 % and whose workers differ as usual, 3 to 12 of twelve blocks are noisy for anything; of six
blocks, which have no interval of more than 97 %, 6 to 27."""
_DRIFT = 0.02
_SURE = 0.01
"""The p value below which a trend is no accident."""
_LEVELS_BLOCKS = 10
"""The least number of blocks: of fewer, two and two lie apart by chance (simulated: with six blocks one fair run in
ten)."""
_LEVELS_SHARE = 0.2
_LEVELS_GAP = 0.015
_PROBE = 0.15
_FILLS, _WIDEST_FILL = 0.02, 0.05
"""The limits for fills of the device's memory. The first is between their medians before turns of the one arm and of
the other, which at rest differ by 0.7 % (H100). The second is between the one and the fills before the solution was
loaded: as much as a turn doesn't wait for (referee.timing.settling). Whoever works on the device by then works on in
the turn."""
_THROTTLED = 0.1
_UNQUEUED, _UNQUEUED_OF_MEANS = 0.1, 0.02
"""Shares of calls that may be too long: they make a median at most the 56th percentile of the others, and a mean at
most 1 % longer, since it leaves out what exceeds the median by half."""
_BETWEEN_EVENTS = ("gpu_cold", "gpu_warm", "graph", *OF_STEPS)
"""Metrics whose times are the device's alone, as long as launches are queued before it begins."""

_AROUND_NS = 2_400
"""The part of a time between events that is not the kernel's own, whatever its length: by benchmarks/equal_arms.py on
an H100, in 40 runs of calls between 20 µs and 11 ms."""
_MUCH_AROUND = 0.01
_LEAST_AROUND = 3
"""The least time of a call in multiples of _AROUND_NS: of a shorter one too little is left to tell a ratio from."""

_HELD_BACK = ("thermal", "hw")
"""Parts of NVML's words for why clocks were held back: heat, and hardware that protects itself. A power cap by software
is how a GPU under a heavy matrix kernel always runs."""


def reasons(measured: MetricTiming) -> Iterator[str]:
    """Return each reason in words with its numbers, the plainest first."""
    yield from _no_interval(measured)
    yield from _too_wide(measured, measured.baselines[0])
    yield from _doubts(measured)


def is_doubtful(measured: MetricTiming) -> bool:
    """Say whether there are reasons beside a wide interval, which still shows on which side of a limit it lies."""
    return any(reason for part in (_no_interval, _doubts) for reason in part(measured))


def reasons_over(measured: MetricTiming, baseline: Baseline) -> Iterator[str]:
    """Say why the ratio over a baseline beyond the first is too uncertain to be quoted; the headline is not
    concerned."""
    arms = (baseline,)
    yield from _below_floor(measured, arms)
    yield from _too_wide(measured, baseline)
    yield from _drift(measured, baseline)
    yield from _levels(measured, arms)
    yield from _unqueued(measured, arms)


def _doubts(measured: MetricTiming) -> Iterator[str]:
    yield from _control(measured)
    yield from _drift(measured, measured.baselines[0])
    yield from _levels(measured, _judged(measured))
    yield from _probe(measured)
    yield from _busy_memory(measured)
    yield from _throttled(measured)
    yield from _company(measured)
    yield from _unqueued(measured, _judged(measured))


def remarks(measured: MetricTiming, further: Sequence[MetricTiming] = ()) -> Iterator[str]:
    """Say what is worth knowing and no reason; `further`: the metrics beside the headline."""
    yield from _around(measured)
    # They aren't ranked; after a headline by end_to_end those between events hold the host's time, too.
    for row in further:
        for words in _late_calls(row, (*row.baselines, "solution")):
            yield f"{row.metric}: {words}"


def _around(measured: MetricTiming) -> Iterator[str]:
    """Say what starting and ending a kernel does to a ratio of short calls."""
    if measured.speedup is None or measured.floors is None or measured.metric not in _BETWEEN_EVENTS:
        return
    above, below = (measured.time_ns(arm) for arm in _judged(measured))
    if min(above, below) < _LEAST_AROUND * _AROUND_NS:
        return
    kernels = (above - _AROUND_NS) / (below - _AROUND_NS)
    if abs(math.log(kernels / (above / below))) > _MUCH_AROUND:
        yield (
            f"starting and ending a kernel takes about {_us(_AROUND_NS)} of either time on an H100: without it "
            f"the speed-up would be about {kernels:.2f}"
        )


def _no_interval(measured: MetricTiming) -> Iterator[str]:
    yield from _below_floor(measured, _judged(measured))
    if len(measured.block_ns("solution")) < LEAST_BLOCKS:
        yield "too few blocks for an interval"


def _below_floor(measured: MetricTiming, arms: Sequence[ArmName]) -> Iterator[str]:
    for arm in arms:
        if measured.floor_ns is not None and measured.is_below_floor(arm):
            yield (
                f"the median of {_named(arm)}, {_us(measured.median_ns(arm))}, is below three times that of an empty "
                f"kernel ({_us(measured.floor_ns)}): no ratio is claimed"
            )


def _too_wide(measured: MetricTiming, baseline: Baseline) -> Iterator[str]:
    speedup = measured.speedup_over(baseline)
    if speedup is not None and speedup.half_width > WIDEST:
        half, most = _percent(speedup.half_width), _percent(WIDEST, 0)
        yield f"the interval of the speed-up is ±{half} wide; at most ±{most} is ranked"


def _control(measured: MetricTiming) -> Iterator[str]:
    if not measured.has_control or measured.is_below_floor(measured.baselines[0]):
        return
    baseline = measured.baselines[0]
    ratio = measured.ratio(baseline, "control", _CONTROL) or measured.ratio(baseline, "control", of_workers=_CONTROL)
    if ratio is None:
        return
    bounds = f"[{ratio.low:.4f}, {ratio.high:.4f}] at {_percent(ratio.confidence)}"
    shown = f"{baseline} against itself (A/A) measures {ratio.estimate:.4f} {bounds}"
    if not ratio.low <= 1 <= ratio.high:
        yield f"{shown}, and 1 isn't in there"


def _drift(measured: MetricTiming, baseline: Baseline) -> Iterator[str]:
    """Say where the ratio itself drifts, or where times drift so far that a median in ms is one moment's. Slow drift
    falls on all turns of a block alike, so it leaves ratios what they are."""
    above, below = measured.block_ns(baseline), measured.block_ns("solution")
    of_ratio = _significant_drift([a / b for a, b in zip(above, below, strict=True)])
    of_times = _significant_drift(above)
    if of_ratio is not None and abs(of_ratio) > _DRIFT:
        yield f"the speed-up drifted by {_signed(of_ratio)} over the run; at most {_percent(_DRIFT)} is ranked"
    if of_times is not None and abs(of_times) > WIDEST:
        yield f"{baseline} drifted by {_signed(of_times)} over the run; at most {_percent(WIDEST)} is ranked"


def _significant_drift(values: Sequence[float]) -> float | None:
    """Return the relative drift from the first to the last value along the trend; None where it is under 2 % or may be
    an accident."""
    if len(values) < LEAST_BLOCKS or max(values) <= (1 + _DRIFT) * min(values):
        return None
    drift = theil_sen(values) * (len(values) - 1) / median(values)
    return drift if abs(drift) > _DRIFT and mann_kendall(values) < _SURE else None


def _levels(measured: MetricTiming, arms: Sequence[ArmName]) -> Iterator[str]:
    """Say where there are two clock modes: times stand on two levels with nothing between them, and chance says which
    has the median."""
    for arm in arms:
        values = measured.block_ns(arm)
        found = two_levels(values, _LEVELS_SHARE, _LEVELS_GAP) if len(values) >= _LEVELS_BLOCKS else None
        if found:
            yield (
                f"{_named(arm)} runs at two speeds: {_us(found.lower)} in {_percent(1 - found.upper_share, 0)} of the "
                f"blocks, {_us(found.upper)} in the others, nothing between"
            )


def _probe(measured: MetricTiming) -> Iterator[str]:
    """The same fill after turns of the same arms: what moves it moves everything."""
    ours = (measured.baselines[0], "control")
    times = [turn.canary_ns for turn in measured.turns if turn.arm in ours and turn.canary_ns]
    third = len(times) // 3
    if third < 2:
        return
    before, after = median(times[:third]), median(times[-third:])
    moved = after / before - 1
    if max(moved, 1 / (1 + moved) - 1) > _PROBE:
        yield (
            f"a fill of the referee's own took {_us(before)} in the first third of the run and {_us(after)} in the "
            f"last; at most {_percent(_PROBE, 0)} of difference is ranked"
        )


def _busy_memory(measured: MetricTiming) -> Iterator[str]:
    """Say where the device's memory was busy before one arm's turns more than before the other's, or before both, which
    cancels only if both are bound by memory."""
    fills_ns = [(turn.arm, turn.fill_ns) for turn in measured.turns if turn.fill_ns]
    baseline, solution = ([ns for arm, ns in fills_ns if arm == one] for one in _judged(measured))
    if not baseline or not solution:
        return
    before, other = median(baseline), median(solution)
    shown = f"before turns of {_judged(measured)[0]} a fill of the device's memory took {_us(before)}"
    somebody = "somebody else was using it, if only the driver, which clears what is freed"
    if max(before, other) > (1 + _FILLS) * min(before, other):
        yield (
            f"{shown}, before those of the solution {_us(other)}: {somebody}; at most {_percent(_FILLS, 0)} of "
            "difference is ranked"
        )
    still = measured.floors and measured.floors.fill_ns
    if still and before > (1 + _WIDEST_FILL) * still:
        yield (
            f"{shown}, before the solution was loaded {_us(still)}: {somebody}; at most {_percent(_WIDEST_FILL, 0)} "
            "more is ranked"
        )


def _throttled(measured: MetricTiming) -> Iterator[str]:
    states = [turn.gpu for turn in measured.turns if turn.gpu]
    given = [{word for word in one.throttled if any(part in word.lower() for part in _HELD_BACK)} for one in states]
    held_back, why = sum(map(bool, given)), ", ".join(sorted(set().union(*given)))
    if held_back > _THROTTLED * len(given):
        yield f"clocks were held back in {held_back} of {len(given)} turns ({why}): cool the GPU, or measure on another"


def _company(measured: MetricTiming) -> Iterator[str]:
    states = [turn.gpu for turn in measured.turns if turn.gpu and turn.gpu.other_processes is not None]
    busy = sum(state.other_processes != 0 for state in states)
    if busy:
        yield f"another program was on the GPU in {busy} of {len(states)} turns: end it, or measure on another"


def _unqueued(measured: MetricTiming, arms: Sequence[ArmName]) -> Iterator[str]:
    most = _percent(_most_late(measured), 0)
    yield from (f"{words}; at most {most} are ranked as gpu_cold" for words in _late_calls(measured, arms))


def _late_calls(measured: MetricTiming, arms: Sequence[ArmName]) -> Iterator[str]:
    """Yield words for each arm of whose calls more weren't proven to be queued than a median or a mean bears, where
    that is part of the metric."""
    if measured.metric not in _BETWEEN_EVENTS:
        return
    for arm in arms:
        proofs = [proof for turn in measured.turns if turn.arm == arm for proof in turn.queued]
        late = proofs.count(False)
        if late > _most_late(measured) * len(proofs):
            words = f"in {late} of {len(proofs)} calls of {_named(arm)} the device waited for the host"
            yield f"{words}, so that their times hold launches"


def _most_late(measured: MetricTiming) -> float:
    return _UNQUEUED_OF_MEANS if measured.is_averaged else _UNQUEUED


def _judged(measured: MetricTiming) -> tuple[ArmName, ArmName]:
    """The two arms of the headline."""
    return (measured.baselines[0], "solution")


def _named(arm: ArmName) -> str:
    return "the solution" if arm == "solution" else arm


def _us(ns: float) -> str:
    return f"{ns / 1e3:.4g} µs"


def _percent(share: float, digits: int = 1) -> str:
    return f"{100 * share:.{digits}f} %"


def _signed(share: float) -> str:
    return f"{100 * share:+.1f} %"
