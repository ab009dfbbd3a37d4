"""A traced turn as the device ran it: what lies inside the calls, and what lies outside.

The worker's device holds the GPU before a timed call and marks its end (devices.cuda.tracer); neither mark may be
missing. It also runs kernels of its own around the calls. Before the lead-in of each call that begins on an idle device
it clears the L2 cache; directly behind the mark at a call's end, on the same stream, it stores the outputs one by one,
by copies where an output lies in one piece, else by one kernel. A kernel of these names is the device's own only there.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from harness.devices import END, EVICT, LEAD_IN, STRIDED_COPY
from harness.model.plural import several
from harness.referee.answers.output_spec import OutputSpec
from harness.sandbox.outcome import SolutionFailed
from harness.sandbox.wire.device import KernelRun

_OVERLAP_NS = 2_000
"""Timestamps of neighbours on one stream overlap by up to a microsecond (H100, CUPTI 13.0)."""
_LEAST_STORING_NS = 10_000
"""A kernel of a few elements takes 3 µs."""
_SLOWER_THAN_A_COPY = 30
"""An H100 stores 0.3 TB/s element by element, read and written, and copies 3.0 in one piece. Three times as slow is
tolerated, since layouts differ."""
_UNKNOWN_BYTES_PER_S = 2e10
_MOST_EVICTING_NS = 5_000_000
"""An H100 reads the 256 MiB in 0.11 ms, a small GPU in 3 ms."""
_LEAST_ELEMENT_BYTES = 4
"""Smaller elements take as long as these: their number counts."""

_NumberedRow = tuple[int, KernelRun]
"""A row with its index in the trace."""
_RowTime = tuple[int, int]
"""The index of a row in the trace, and a number of ns."""
_Span = tuple[int, int]
"""A beginning and an end, in ns."""


@dataclass(frozen=True)
class OutputSize:
    """The size of one output, as the problem's Model returns it."""

    elements: int
    element_bytes: int

    @property
    def nbytes(self) -> int:
        return self.elements * self.element_bytes

    def most_ns(self, copy_bytes_per_s: float | None) -> int:
        """The longest time in which the device stores it element by element."""
        rate = copy_bytes_per_s / _SLOWER_THAN_A_COPY if copy_bytes_per_s else _UNKNOWN_BYTES_PER_S
        return _LEAST_STORING_NS + round(2e9 * self.elements * max(_LEAST_ELEMENT_BYTES, self.element_bytes) / rate)


@dataclass(frozen=True)
class AroundCalls:
    """The facts that decide the device's own work around calls.

    `outputs` are those of one call, in order. `is_idle`: calls begin on an idle device. `copy_bytes_per_s` counts bytes
    read and written, as the referee measured them on this device.
    """

    outputs: tuple[OutputSize, ...] = ()
    is_idle: bool = False
    copy_bytes_per_s: float | None = None

    @property
    def output_bytes(self) -> int:
        return sum(output.nbytes for output in self.outputs)


@dataclass(frozen=True)
class TracedCall:
    """The rows that ran between a call's beginning and its end, in order; `interval_ns` is the time between."""

    rows: tuple[KernelRun, ...]
    interval_ns: int

    @property
    def span_ns(self) -> int:
        """The time from the beginning of the first row to the end of the last."""
        return max((row.end_ns for row in self.rows), default=0) - min((row.start_ns for row in self.rows), default=0)

    @property
    def busy_ns(self) -> int:
        """The time during which at least one of the rows ran."""
        total = reached = 0
        for start, end in sorted((row.start_ns, row.end_ns) for row in self.rows):
            total += max(0, end - max(start, reached))
            reached = max(reached, end)
        return total


@dataclass(frozen=True)
class TracedTurn:
    """The calls of a traced turn, and what ran outside of them.

    `outside` has the kernels and moves that are not the device's own, each with the ns that lie outside. `strided_ns`
    is the time per call that storing outputs element by element took.
    """

    calls: tuple[TracedCall, ...]
    outside: tuple[tuple[KernelRun, int], ...]
    strided_ns: float


def output_sizes(spec: OutputSpec) -> tuple[OutputSize, ...]:
    """The sizes of all outputs of one call."""
    forms = zip(spec.shapes, spec.dtypes, strict=True)
    return tuple(OutputSize(math.prod(shape), dtype.itemsize) for shape, dtype in forms)


def read_traced_turn(rows: Sequence[KernelRun], calls: int, around: AroundCalls) -> TracedTurn:
    """Divide a turn's rows among its calls. Raises: SolutionFailed where the device's marks are missing."""
    ordered = sorted(rows, key=lambda row: (row.start_ns, row.end_ns))
    begins = [row.end_ns for row in ordered if row.name == LEAD_IN]
    ends = [row.start_ns for row in ordered if row.name == END]
    _require_marks(begins, ends, calls)
    intervals = list(zip(begins, ends, strict=True))
    foreign = [row for row in ordered if row.name not in (LEAD_IN, END)]
    by_stream: dict[int, list[_NumberedRow]] = defaultdict(list)
    for index, row in enumerate(ordered):
        by_stream[row.stream].append((index, row))
    storing_ns = dict(found for on_stream in by_stream.values() for found in _storing(on_stream, around))
    own_ns = dict(_evicting(by_stream)) if around.is_idle else {}
    own_ns |= {index: own_ns.get(index, 0) + ns for index, ns in storing_ns.items()}
    return TracedTurn(
        calls=tuple(
            TracedCall(tuple(row for row in foreign if begin - _OVERLAP_NS <= row.start_ns < end), end - begin)
            for begin, end in intervals
        ),
        outside=tuple(_outside(ordered, intervals, own_ns, around.output_bytes)),
        strided_ns=sum(storing_ns.values()) / calls,
    )


def _require_marks(begins: Sequence[int], ends: Sequence[int], calls: int) -> None:
    in_turn = all(end <= begin for end, begin in zip(ends, begins[1:], strict=False))
    whole = len(begins) == len(ends) == calls and in_turn
    if whole and all(begin <= end + _OVERLAP_NS for begin, end in zip(begins, ends, strict=True)):
        return
    raise SolutionFailed.cheating(
        "trace",
        f"a trace of {several(calls, 'call')} shows {several(len(begins), 'beginning')} and "
        f"{several(len(ends), 'end')}, or not in their order: the trace was tampered with",
        calls=calls,
        begins=len(begins),
        ends=len(ends),
    )


def _evicting(by_stream: Mapping[int, Sequence[_NumberedRow]]) -> Iterator[_RowTime]:
    """The index of each row that clears the cache directly before a lead-in, and how long it may take."""
    for rows in by_stream.values():
        for (index, row), (_, following) in itertools.pairwise(rows):
            if row.name == EVICT and following.name == LEAD_IN:
                yield index, min(row.end_ns - row.start_ns, _MOST_EVICTING_NS)


def _storing(rows: Sequence[_NumberedRow], around: AroundCalls) -> Iterator[_RowTime]:
    """The index of each row on a stream that stores an output behind a call's end, and how long it may take."""
    for number, (_, row) in enumerate(rows):
        if row.name == END:
            yield from _storing_behind(iter(rows[number + 1 :]), around)


def _storing_behind(rows: Iterator[_NumberedRow], around: AroundCalls) -> Iterator[_RowTime]:
    """Yield as many of the rows behind an end, in order, as the outputs account for."""
    for output in around.outputs:
        left = output.nbytes
        while left > 0:
            index, row = next(rows, (-1, None))
            if row is None:
                return
            if row.kind == "copy":
                left -= _bytes_moved(row)
            elif row.name == STRIDED_COPY and left == output.nbytes:
                yield index, min(row.end_ns - row.start_ns, output.most_ns(around.copy_bytes_per_s))
                left = 0
            else:
                return


def _outside(
    rows: Sequence[KernelRun], intervals: Sequence[_Span], own_ns: Mapping[int, int], output_bytes: int
) -> list[tuple[KernelRun, int]]:
    """Kernels outside of calls; moves while the device was held, when it makes none itself (a copy needs no
    multiprocessor); and the share of other moves beyond the poison and the copies that the device makes of outputs."""
    held = [(row.start_ns, row.end_ns) for row in rows if row.name == LEAD_IN]
    kernels: list[tuple[KernelRun, int]] = []
    moves: list[tuple[KernelRun, int]] = []
    for index, row in enumerate(rows):
        if row.name in (LEAD_IN, END):
            continue
        length = row.end_ns - row.start_ns - _within(row, intervals) - own_ns.get(index, 0)
        if row.kind != "kernel" and _is_amid(row, held):
            kernels.append((row, row.end_ns - row.start_ns))
        elif length > _OVERLAP_NS:
            is_excused = row.kind != "kernel" and _within(row, held) <= _OVERLAP_NS
            (moves if is_excused else kernels).append((row, length))
    moved = sum(_bytes_moved(row) for row, _ in moves)
    excess = max(0, moved - 2 * output_bytes * len(intervals))
    return kernels + [(row, length * excess // moved) for row, length in moves if excess]


def _bytes_moved(row: KernelRun) -> int:
    """Read the size out of a name such as 'copy of 4096 bytes' (devices.cuda.tracer)."""
    words = row.name.split()
    return int(words[2]) if len(words) == 4 and words[2].isdecimal() else 0


def _within(row: KernelRun, spans: Sequence[_Span]) -> int:
    return sum(max(0, min(row.end_ns, end) - max(row.start_ns, start)) for start, end in spans)


def _is_amid(row: KernelRun, spans: Sequence[_Span]) -> bool:
    return any(start + _OVERLAP_NS < row.start_ns and row.end_ns < end - _OVERLAP_NS for start, end in spans)
