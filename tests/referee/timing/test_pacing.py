"""Under which conditions calls are measured, from what turns show."""

from __future__ import annotations

import pytest

from harness.model.arms import ArmName, Metric
from harness.referee.timing.pacing import Pacing
from harness.sandbox.wire.device import Conditions
from harness.sandbox.wire.messages import CallTaken


def calls(*queued: bool | None) -> list[CallTaken]:
    return [CallTaken("tensor", (), 1_000, 0, queued=one) for one in queued]


LATE = calls(False, False, False)
ARMS: tuple[ArmName, ...] = ("eager", "control", "solution")


def test_calls_are_cold_and_the_device_held() -> None:
    assert Pacing().conditions() == Conditions("gpu_cold", 900_000)
    assert Pacing().conditions("end_to_end") == Conditions("end_to_end", 900_000)


@pytest.mark.parametrize("metric", ["gpu_warm", "graph"])
def test_calls_that_are_made_twice_have_other_inputs_the_first_time(metric: Metric) -> None:
    assert Pacing().conditions(metric) == Conditions(metric, 900_000, late_inputs=True)


def test_a_turn_counts_unless_most_of_its_launches_came_too_late() -> None:
    pacing = Pacing()
    assert not pacing.note("eager", calls(False, True, True))
    assert not pacing.note("eager", calls(True, True, True))
    assert pacing.note("eager", calls(False, False, True))
    assert pacing.metric == "gpu_cold"


def test_what_is_late_in_every_arms_first_turn_alone_is_no_reason_for_another_metric() -> None:
    pacing = Pacing()
    assert [pacing.note(arm, LATE) for arm in ARMS] == [True] * 3
    assert not pacing.note("solution", calls(True, True, True))
    assert [pacing.note("solution", LATE) for _ in range(2)] == [True] * 2
    assert pacing.metric == "gpu_cold"


def test_a_solution_that_waits_for_the_device_itself_is_measured_end_to_end() -> None:
    pacing = Pacing()
    assert [pacing.note("solution", LATE) for _ in range(4)] == [True, True, True, False]
    assert pacing.conditions() == Conditions("end_to_end", 900_000)
    assert not pacing.note("solution", calls(None, None))  # there is no such proof end to end


def test_for_a_baseline_with_many_launches_the_device_is_held_longer() -> None:
    pacing = Pacing()
    held_ns = []
    for _ in range(9):
        assert pacing.note("eager", LATE)
        held_ns.append(pacing.conditions().hold_ns)
    assert held_ns == [900_000] * 2 + [3_600_000] * 3 + [14_400_000] * 3 + [900_000]
    assert pacing.metric == "end_to_end", "it waits for the device itself"


def test_a_longer_hold_is_every_arms() -> None:
    pacing = Pacing()
    for arm in ("eager", "eager", "solution", "solution", "eager"):
        pacing.note(arm, LATE)
    assert pacing.conditions() == Conditions("gpu_cold", 3_600_000)
    assert [pacing.note("solution", one) for one in (LATE, calls(True, True))] == [True, False]
    assert pacing.conditions("gpu_warm").hold_ns == 3_600_000
    assert [pacing.note("solution", LATE) for _ in range(3)] == [True] * 3
    assert pacing.metric == "end_to_end"


def test_a_measurement_keeps_its_metric() -> None:
    pacing = Pacing()
    pacing.note("eager", LATE)
    pacing.settle()
    assert [pacing.note("eager", LATE) for _ in range(4)] == [False] * 4
    assert pacing.metric == "gpu_cold"


def test_where_nothing_is_timed_there_is_no_proof_to_miss() -> None:
    assert not Pacing().note("eager", calls(None, None, None))
