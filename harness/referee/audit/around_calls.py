"""What the worker's device itself runs around the calls of a traced turn: a kernel of these names is its own only where
it launches one.

Before the lead-in of each call that begins on an idle device it clears the L2 cache (backends.cuda.lead_in); straight
behind the mark at a call's end, on the same stream, it stores the outputs one by one (backends.cuda.snapshot): what
lies in one piece by copies, what doesn't by one kernel.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from harness.devices import END, EVICT, LEAD_IN, STRIDED_COPY
from harness.sandbox.wire.device import KernelRun

_Row = tuple[int, KernelRun]
"""With its place in the trace."""
_LEAST_STORING_NS = 10_000
"""A kernel of a few elements takes 3 µs."""
_SLOWER_THAN_A_COPY = 30
"""Element by element an H100 stores 0.3 TB/s, read and written, and copies 3.0 in one piece. A third of that is let
pass, since layouts differ."""
_UNKNOWN_BYTES_PER_S = 2e10
_MOST_EVICTING_NS = 5_000_000
"""An H100 reads the 256 MiB in 0.11 ms, a small GPU in three."""
_LEAST_ELEMENT_BYTES = 4
"""Smaller ones take as long as these: it is their number that counts."""


@dataclass(frozen=True)
class Output:
    """Of a call, as the problem's Model returns it."""

    elements: int
    element_bytes: int

    @property
    def nbytes(self) -> int:
        return self.elements * self.element_bytes

    def most_ns(self, copy_bytes_per_s: float | None) -> int:
        """To store it element by element."""
        rate = copy_bytes_per_s / _SLOWER_THAN_A_COPY if copy_bytes_per_s else _UNKNOWN_BYTES_PER_S
        return _LEAST_STORING_NS + round(2e9 * self.elements * max(_LEAST_ELEMENT_BYTES, self.element_bytes) / rate)


@dataclass(frozen=True)
class Surroundings:
    """`outputs`: of one call, in order. `is_idle`: calls begin on an idle device. `copy_bytes_per_s`: read and written,
    as the referee measured it on this device."""

    outputs: tuple[Output, ...] = ()
    is_idle: bool = False
    copy_bytes_per_s: float | None = None

    @property
    def output_bytes(self) -> int:
        return sum(output.nbytes for output in self.outputs)


@dataclass(frozen=True)
class DevicesOwn:
    """How long of the rows, by their place in the trace, the device was at work for itself."""

    evicting_ns: Mapping[int, int]
    storing_ns: Mapping[int, int]

    def of(self, place: int) -> int:
        return self.evicting_ns.get(place, 0) + self.storing_ns.get(place, 0)


def devices_own(ordered: Sequence[KernelRun], around: Surroundings) -> DevicesOwn:
    """`ordered` by their beginning."""
    by_stream: dict[int, list[_Row]] = defaultdict(list)
    for place, row in enumerate(ordered):
        by_stream[row.stream].append((place, row))
    evicting = _before_lead_ins(by_stream) if around.is_idle else ()
    storing = (found for rows in by_stream.values() for found in _behind_ends(rows, around))
    return DevicesOwn(
        {place: min(row.end_ns - row.start_ns, _MOST_EVICTING_NS) for place, row in evicting}, dict(storing)
    )


def bytes_moved(row: KernelRun) -> int:
    """As tracer.py words it: 'copy of 4096 bytes'."""
    words = row.name.split()
    return int(words[2]) if len(words) == 4 and words[2].isdecimal() else 0


def _before_lead_ins(by_stream: Mapping[int, Sequence[_Row]]) -> Iterator[_Row]:
    for rows in by_stream.values():
        for (place, row), (_, following) in itertools.pairwise(rows):
            if row.name == EVICT and following.name == LEAD_IN:
                yield place, row


def _behind_ends(rows: Sequence[_Row], around: Surroundings) -> Iterator[tuple[int, int]]:
    """Of each call's rows on its stream: as many as the outputs, in their order, account for."""
    for number, (_, row) in enumerate(rows):
        if row.name == END:
            yield from _storing((rows[place] for place in range(number + 1, len(rows))), around)


def _storing(rows: Iterator[_Row], around: Surroundings) -> Iterator[tuple[int, int]]:
    """Of the rows behind an end: the place of each kernel that stores an output, and how long that may take."""
    for output in around.outputs:
        left = output.nbytes
        while left > 0:
            place, row = next(rows, (-1, None))
            if row is None:
                return
            if row.kind == "copy":
                left -= bytes_moved(row)
            elif row.name == STRIDED_COPY and left == output.nbytes:
                yield place, min(row.end_ns - row.start_ns, output.most_ns(around.copy_bytes_per_s))
                left = 0
            else:
                return
