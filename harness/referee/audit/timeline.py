"""A traced turn as the device ran it: what lies inside the calls, and what lies outside of them.

The worker's device holds the GPU before a timed call and marks its end (backends.cuda.markers), and copies the outputs
after; neither mark may be missing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from harness.devices import END, LEAD_IN
from harness.referee.audit.around_calls import DevicesOwn, Surroundings, bytes_moved, devices_own
from harness.sandbox.outcome import SolutionFailed
from harness.sandbox.wire.device import KernelRun

_OVERLAP_NS = 2_000
"""Timestamps of neighbours on one stream overlap by up to a microsecond (H100, CUPTI 13.0)."""
_OUTSIDE_LEAST_NS = 20_000
_OUTSIDE_SHARE = 0.02
_CLAIM_LEAST_NS = 50_000
_CLAIM_SHARE = 0.1
"""By which a call may last longer between its marks than its own events say: they lie a few µs within. (Reasoned, not
measured.)"""


@dataclass(frozen=True)
class TracedCall:
    """What ran between a call's beginning and its end, in order; `interval_ns` is the time between."""

    rows: tuple[KernelRun, ...]
    interval_ns: int

    @property
    def busy_ns(self) -> int:
        """How long at least one of them ran."""
        return _covered([(row.start_ns, row.end_ns) for row in self.rows])


Claimed = tuple[TracedCall, int]
"""A traced call, and the ns that are claimed for it."""


@dataclass(frozen=True)
class Timeline:
    """`outside` are kernels and moves beyond the device's own that ran when no call did, with how long of each lies
    there. `strided_ns` is what storing outputs of another layout took, per call."""

    calls: tuple[TracedCall, ...]
    outside: tuple[tuple[KernelRun, int], ...]
    strided_ns: float


def read_timeline(rows: Sequence[KernelRun], calls: int, around: Surroundings) -> Timeline:
    """Raises: SolutionFailed where the device's marks are missing."""
    ordered = sorted(rows, key=lambda row: (row.start_ns, row.end_ns))
    begins = [row.end_ns for row in ordered if row.name == LEAD_IN]
    ends = [row.start_ns for row in ordered if row.name == END]
    _require_marks(ordered, begins, ends, calls)
    intervals = list(zip(begins, ends, strict=True))
    foreign = [row for row in ordered if row.name not in (LEAD_IN, END)]
    own = devices_own(ordered, around)
    return Timeline(
        calls=tuple(
            TracedCall(tuple(row for row in foreign if begin - _OVERLAP_NS <= row.start_ns < end), end - begin)
            for begin, end in intervals
        ),
        outside=tuple(_outside(ordered, intervals, own, around.output_bytes)),
        strided_ns=sum(own.storing_ns.values()) / calls,
    )


def require_nothing_outside(timeline: Timeline) -> None:
    """Raises: SolutionFailed where the device worked for the solution when no call was being timed."""
    per_call_ns = sum(ns for _, ns in timeline.outside) / len(timeline.calls)
    busy_ns = sum(call.busy_ns for call in timeline.calls) / len(timeline.calls)
    tolerance_ns = max(_OUTSIDE_LEAST_NS, _OUTSIDE_SHARE * busy_ns)
    if per_call_ns <= tolerance_ns:
        return
    names = ", ".join(dict.fromkeys(row.name[:80] for row, _ in timeline.outside[:3]))
    raise SolutionFailed.cheating(
        "trace",
        f"the device worked {per_call_ns / 1e3:.0f} µs per call for the solution outside of what is timed: {names}",
        outside_ns_per_call=per_call_ns,
        inside_ns_per_call=busy_ns,
        tolerance_ns=tolerance_ns,
    )


def require_measured(timed: Sequence[Claimed], of_baseline: Sequence[Claimed], is_shared: bool) -> tuple[str, ...]:
    """An event that is recorded anew in the middle of a call would shorten the claim, but not the time between the
    marks. The host may be held up between mark and event now and then, so most calls must agree. Where most of the
    baseline's don't either, or the GPU is known to be shared, it goes to other processes meanwhile, by slices of about
    two milliseconds. Remarks.

    Raises: SolutionFailed.
    """
    shaved, held_up = _shaved(timed), _shaved(of_baseline)
    if len(shaved) * 2 <= len(timed):
        return ()
    if is_shared or len(held_up) * 2 > len(of_baseline):
        return (
            f"{len(shaved)} of {len(timed)} traced calls lasted longer between the marks before and after them than is "
            f"claimed, and {len(held_up)} of {len(of_baseline)} of the baseline's, as they do while the GPU is shared "
            "with another process: the times may be off",
        )
    call, claimed_ns = shaved[0]
    raise SolutionFailed.cheating(
        "trace",
        f"{claimed_ns / 1e3:.0f} µs are claimed for a traced call that lasted {call.interval_ns / 1e3:.0f} µs between "
        f"the marks before and after it, in {len(shaved)} of {len(timed)} calls: the clock was started late or stopped "
        "early",
        claimed_ns=claimed_ns,
        traced_ns=call.interval_ns,
        tolerance_ns=_claim_slack_ns(call),
    )


def _shaved(timed: Sequence[Claimed]) -> list[Claimed]:
    return [(call, claimed_ns) for call, claimed_ns in timed if call.interval_ns - claimed_ns > _claim_slack_ns(call)]


def _claim_slack_ns(call: TracedCall) -> float:
    return max(_CLAIM_LEAST_NS, _CLAIM_SHARE * call.interval_ns)


def _require_marks(rows: Sequence[KernelRun], begins: Sequence[int], ends: Sequence[int], calls: int) -> None:
    in_turn = all(end <= begin for end, begin in zip(ends, begins[1:], strict=False))
    whole = len(begins) == len(ends) == calls and in_turn
    if whole and all(begin <= end + _OVERLAP_NS for begin, end in zip(begins, ends, strict=True)):
        return
    raise SolutionFailed.cheating(
        "trace",
        f"a trace of {calls} calls shows {len(begins)} beginnings and {len(ends)} ends, or not in their order: "
        "the trace was tampered with",
        calls=calls,
        begins=len(begins),
        ends=len(ends),
    )


def _outside(
    rows: Sequence[KernelRun], intervals: Sequence[tuple[int, int]], own: DevicesOwn, output_bytes: int
) -> list[tuple[KernelRun, int]]:
    """Kernels; moves while the device was held, when it makes none itself: a copy needs no multiprocessor; and of other
    moves what exceeds the poison and the copies that the device itself makes of every call's outputs."""
    held = [(row.start_ns, row.end_ns) for row in rows if row.name == LEAD_IN]
    kernels: list[tuple[KernelRun, int]] = []
    moves: list[tuple[KernelRun, int]] = []
    for place, row in enumerate(rows):
        if row.name in (LEAD_IN, END):
            continue
        length = row.end_ns - row.start_ns - _within(row, intervals) - own.of(place)
        if row.kind != "kernel" and _is_amid(row, held):
            kernels.append((row, row.end_ns - row.start_ns))
        elif length > _OVERLAP_NS:
            is_excused = row.kind != "kernel" and _within(row, held) <= _OVERLAP_NS
            (moves if is_excused else kernels).append((row, length))
    moved = sum(bytes_moved(row) for row, _ in moves)
    excess = max(0, moved - 2 * output_bytes * len(intervals))
    return kernels + [(row, length * excess // moved) for row, length in moves if excess]


def _within(row: KernelRun, spans: Sequence[tuple[int, int]]) -> int:
    return sum(max(0, min(row.end_ns, end) - max(row.start_ns, start)) for start, end in spans)


def _is_amid(row: KernelRun, spans: Sequence[tuple[int, int]]) -> bool:
    return any(start + _OVERLAP_NS < row.start_ns and row.end_ns < end - _OVERLAP_NS for start, end in spans)


def _covered(spans: Sequence[tuple[int, int]]) -> int:
    total = reached = 0
    for start, end in sorted(spans):
        total += max(0, end - max(start, reached))
        reached = max(reached, end)
    return total
