"""What is the device's own work in a traced turn, and what only bears its kernels' names."""

from __future__ import annotations

from dataclasses import replace

import pytest

from harness.devices import EVICT, LEAD_IN, STRIDED_COPY
from harness.referee.audit.trace import require_nothing_outside
from harness.referee.audit.traced_turn import AroundCalls, OutputSize, read_traced_turn
from harness.sandbox.outcome import SolutionFailed
from harness.sandbox.wire.device import KernelRun
from tests.referee.audit.observed import observed
from tests.referee.audit.traces import LARGE, US, around, call_of, kernel, move

SMALL = OutputSize(1024, 4)
HALVES = OutputSize(2**24, 2)
PIECES = (2**23,) * 8
"""Of LARGE."""


def calls(*stored: int | tuple[int, ...], evict_us: int = 0, stream: int = 7) -> list[KernelRun]:
    return [
        row
        for at in (10_000, 20_000)
        for row in (*call_of(at, 100, *stored, evict_us=evict_us, stream=stream), kernel(at + 5, 90, stream=stream))
    ]


@pytest.mark.parametrize(
    ("rows", "surroundings", "strided_us"),
    [
        (calls(450), around(LARGE), 450),
        (calls(450, stream=20), around(LARGE), 450),  # on whichever stream is the current one
        (calls(PIECES), around(LARGE), 0),
        (calls(450, 3), around(LARGE, SMALL), 453),
        (calls((4096,), 450), around(SMALL, LARGE), 450),
        (calls(450, PIECES, 3), around(LARGE, LARGE, SMALL), 453),
        (calls(3, 450), around(SMALL, OutputSize(0, 4), LARGE), 453),  # nothing is stored of what is empty
        (calls(9), around(OutputSize(1, 1)), 9),
        (calls(800), around(HALVES), 800),  # as many elements as of float32
        (calls(450, evict_us=300), around(LARGE, is_idle=True), 450),
        (calls(PIECES, evict_us=300), around(LARGE, is_idle=True), 0),
        (calls(5_000), AroundCalls((LARGE,)), 5_000),  # on a device of which nothing is known
        ([*calls(PIECES), kernel(10_010, 20, EVICT), kernel(20_010, 20, STRIDED_COPY)], around(LARGE), 0),  # within
    ],
)
def test_what_the_device_does_itself_is_nobodys_work(
    rows: list[KernelRun], surroundings: AroundCalls, strided_us: int
) -> None:
    timeline = read_traced_turn(rows, 2, surroundings)
    assert [length for row, length in timeline.outside if row.kind == "kernel"] == []
    assert timeline.strided_ns == strided_us * US
    require_nothing_outside(observed(traced=[timeline]))


def late(rows: list[KernelRun]) -> list[KernelRun]:
    """With the halves of an input exchanged before and after each lead-in."""
    found: list[KernelRun] = []
    for row in rows:
        if row.name == LEAD_IN:
            before, after = row.start_ns // US - 60, row.end_ns // US
            found += [move(before + 2 * number, 2, 2**20) for number in range(3)]
            found += [move(after + 2 * number, 2, 2**20) for number in range(3)]
            found.append(move(after + 6, 1, 2**20, "fill"))
        found.append(row)
    return found


def test_inputs_that_come_late_take_nothing_from_the_outputs() -> None:
    assert read_traced_turn(late(calls(450)), 2, around(LARGE)).strided_ns == 450 * US


@pytest.mark.parametrize(
    ("rows", "surroundings", "outside_us"),
    [
        # One more than there are outputs of another layout, and none where all are copied.
        (calls(450, 440), around(LARGE), 440),
        (calls(PIECES, 440), around(LARGE), 440),
        (calls(450, (4096,), 440), around(LARGE, SMALL), 440),
        # On another stream, before the lead-in, behind something else.
        ([*calls(PIECES), *(kernel(at, 440, STRIDED_COPY, 9) for at in (10_150, 20_150))], around(LARGE), 440),
        ([*calls(PIECES), *(kernel(at, 440, STRIDED_COPY) for at in (9_200, 19_200))], around(LARGE), 440),
        (
            [*calls(), *(row for at in (10_101, 20_101) for row in (kernel(at, 4), kernel(at + 5, 440, STRIDED_COPY)))],
            around(LARGE),
            444,
        ),
        # Longer than it can take: 1.35 ms for LARGE.
        (calls(3_000), around(LARGE), 3_000 - 1_352),
        (calls(400), around(SMALL), 390),
        # Where the device isn't idle it clears the cache as it holds the device, by no kernel of this name.
        ([*calls(PIECES), kernel(19_300, 440, EVICT)], around(LARGE), 220),
        ([kernel(-30_000, 30_000, EVICT), *calls(PIECES)], around(LARGE), 15_000),
        (calls(PIECES, evict_us=300), around(LARGE), 300),
        # On an idle device straight before each lead-in.
        ([*calls(PIECES, evict_us=300), kernel(12_000, 440, EVICT)], around(LARGE, is_idle=True), 220),
        ([*calls(PIECES), *(kernel(at, 440, EVICT, 9) for at in (9_300, 19_300))], around(LARGE, is_idle=True), 440),
        ([kernel(-30_000, 30_000, EVICT), *calls(PIECES, evict_us=300)], around(LARGE, is_idle=True), 15_000),
        (calls(PIECES, evict_us=5_900), around(LARGE, is_idle=True), 900),
    ],
)
def test_what_only_bears_its_kernels_names_is_outside_of_what_is_timed(
    rows: list[KernelRun], surroundings: AroundCalls, outside_us: int
) -> None:
    timeline = read_traced_turn(rows, 2, surroundings)
    per_call_ns = sum(length for row, length in timeline.outside if row.kind == "kernel") / 2
    assert per_call_ns == pytest.approx(outside_us * US, abs=US)
    with pytest.raises(SolutionFailed, match="outside"):
        require_nothing_outside(observed(traced=[timeline]))


def test_a_slower_device_takes_longer() -> None:
    slow = replace(around(LARGE), copy_bytes_per_s=3.0e11)
    assert read_traced_turn(calls(4_500), 2, slow).outside == ()
