"""Reading a traced turn."""

from __future__ import annotations

import pytest

from harness.devices import END, LEAD_IN
from harness.referee.audit import trace
from harness.referee.audit.observed import ArmTurns
from harness.referee.audit.traced_turn import TracedTurn, read_traced_turn
from harness.sandbox.outcome import SolutionFailed
from harness.sandbox.wire.device import KernelRun
from tests.referee.audit.observed import observed
from tests.referee.audit.traces import OUTPUT_BYTES, US, around, kernel, marked, move
from tests.wording import tells

SHARED = [2_400_000]


def require_nothing_outside(turn: TracedTurn) -> None:
    trace.require_nothing_outside(observed(traced=[turn]))


def require_measured(
    timed: list[tuple[int, int]], of_baseline: list[tuple[int, int]], is_shared: bool
) -> tuple[str, ...]:
    baseline = ArmTurns(traced_claims=of_baseline, canaries_ns=SHARED if is_shared else [])
    return trace.require_measured(observed(baseline, traced_claims=timed))


TWO_CALLS = [*marked(1_000, 100), *marked(2_000, 100)]


def test_kernels_belong_to_the_calls_in_which_they_ran() -> None:
    rows = [*TWO_CALLS, kernel(1_010, 80), kernel(2_010, 30), kernel(2_020, 40, stream=9)]
    timeline = read_traced_turn(rows, 2, around())
    assert [len(call.rows) for call in timeline.calls] == [1, 2]
    assert [call.busy_ns for call in timeline.calls] == [80 * US, 50 * US]  # overlapping time counts once
    assert [call.interval_ns for call in timeline.calls] == [100 * US, 100 * US]
    assert [call.span_ns for call in timeline.calls] == [80 * US, 50 * US]
    assert timeline.outside == ()
    require_nothing_outside(timeline)


@pytest.mark.parametrize(
    "hidden",
    [
        [kernel(1_020, 500, stream=13)],  # a side stream that nobody waits for
        [kernel(1_200, 300, stream=13), kernel(2_200, 300)],  # work deferred until after the end
        [kernel(700, 100)],  # work done ahead
        [kernel(-25_000, 100, stream=13)],  # ahead of the turn's first call
        [kernel(920, 75, stream=13), kernel(1_920, 75, stream=13)],  # on a side stream while the device is held
        [move(920, 75, OUTPUT_BYTES), move(1_920, 75, OUTPUT_BYTES)],  # by a copy engine, which isn't held
        [move(910 + 2 * piece, 1, 1_000) for piece in range(41)],  # in small pieces
        [move(1_300, 400, 10 * OUTPUT_BYTES), move(2_300, 400, 10 * OUTPUT_BYTES)],  # copies of an earlier answer
    ],
)
def test_work_outside_of_calls_is_cheating(hidden: list[KernelRun]) -> None:
    with pytest.raises(SolutionFailed, match="outside") as caught:
        require_nothing_outside(read_traced_turn([*TWO_CALLS, kernel(1_010, 50), *hidden], 2, around()))
    assert caught.value.failure.evidence[0].check == "trace"


@pytest.mark.parametrize(
    "harmless",
    [
        [kernel(1_050, 65)],  # ends 15 µs late in one of two calls
        [move(1_050, 30, 10**6), move(1_080, 10, 10**6, "fill")],  # a solution's copies inside its calls
    ],
)
def test_harmless_rows_are_let_pass(harmless: list[KernelRun]) -> None:
    require_nothing_outside(read_traced_turn([*TWO_CALLS, kernel(1_010, 50), *harmless], 2, around()))


@pytest.mark.parametrize(
    "rows",
    [
        [],
        [row for row in TWO_CALLS if row.name != END],
        [row for row in TWO_CALLS if row.name != LEAD_IN],
        [*TWO_CALLS, *marked(3_000, 100)],
        [*TWO_CALLS, kernel(3_000, 1, name=LEAD_IN)],
        [*TWO_CALLS, KernelRun(END, 3_000 * US, 3_001 * US, 7, "fill")],
    ],
)
def test_missing_or_surplus_marks_are_tampering(rows: list[KernelRun]) -> None:
    with pytest.raises(SolutionFailed, match="tampered") as caught:
        read_traced_turn(rows, 2, around())
    assert caught.value.failure.evidence[0].check == "trace"


def lasted(*pairs: tuple[int, int]) -> list[tuple[int, int]]:
    """Calls that lasted so many µs by their trace, with the µs claimed for them, in ns."""
    return [(ns * US, claimed * US) for ns, claimed in pairs]


@pytest.mark.parametrize(
    "timed",
    [
        [],
        lasted((103, 100), (52, 50)),
        lasted((59, 10), (10_900, 10_000)),
        lasted((100, 5_000)),  # who claims too much harms only himself
        lasted((2_100, 100), (103, 100), (102, 100)),  # once the host was held up between mark and event
        lasted((2_100, 100), (103, 100)),
    ],
)
def test_a_call_lasts_about_as_long_as_is_claimed(timed: list[tuple[int, int]]) -> None:
    assert require_measured(timed, [], False) == ()


@pytest.mark.parametrize(
    ("held_up", "calls", "is_shared"), [(1, 1, False), (2, 3, False), (5, 9, False), (1, 3, True), (0, 9, True)]
)
def test_what_happens_to_the_baseline_too_is_no_cheating(held_up: int, calls: int, is_shared: bool) -> None:
    """As beside another process, to which the GPU goes in between."""
    honest = lasted(*[(289, 5)] * 5, *[(6, 5)] * 3)
    baseline = lasted(*[(2_005, 5)] * held_up, *[(6, 5)] * (calls - held_up))
    (remark,) = require_measured(honest, baseline, is_shared)
    assert tells(remark, "5 of 8", "lasted longer")
    assert f"and {held_up} of {calls} of the baseline's" in remark


@pytest.mark.parametrize(("held_up", "calls"), [(1, 3), (2, 5), (4, 9)])
def test_a_host_that_is_held_up_now_and_then_excuses_nobody(held_up: int, calls: int) -> None:
    baseline = lasted(*[(2_005, 5)] * held_up, *[(6, 5)] * (calls - held_up))
    with pytest.raises(SolutionFailed, match="5 of 8"):
        require_measured(lasted(*[(289, 5)] * 5, *[(6, 5)] * 3), baseline, False)


@pytest.mark.parametrize(
    ("timed", "seen"),
    [
        (lasted((1_000, 20)), "1 of 1 calls"),
        (lasted((1_000, 20), (1_000, 20), (1_000, 990)), "2 of 3 calls"),
        (lasted((1_000, 20), (1_000, 20)), "2 of 2 calls"),
    ],
)
def test_a_start_that_is_recorded_anew_is_cheating(timed: list[tuple[int, int]], seen: str) -> None:
    with pytest.raises(
        SolutionFailed, match=f"20 µs are claimed for a traced call that lasted 1000 µs.*{seen}"
    ) as caught:
        require_measured(timed, lasted((103, 100)), False)
    assert caught.value.failure.evidence[0].check == "trace"
