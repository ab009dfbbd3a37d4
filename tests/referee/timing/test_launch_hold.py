"""Under which conditions calls are measured, from what turns show."""

from __future__ import annotations

import pytest

from harness.model.arms import ArmName, Metric
from harness.model.timing import Turn
from harness.referee.timing.launch_hold import LaunchHold
from harness.sandbox.wire.device import Conditions


def noted(hold: LaunchHold, arm: ArmName, *queued: bool) -> bool:
    """Whether a turn is late whose three calls were queued so, or not known to be; it is noted."""
    turn = Turn(arm, 0, (1_000,) * 3, 9_000, queued=queued)
    is_late = hold.is_late(turn)
    hold.note(turn)
    return is_late


LATE = (False, False, False)
ARMS: tuple[ArmName, ...] = ("eager", "control", "solution")


def test_calls_are_cold_and_the_device_held() -> None:
    assert LaunchHold().conditions() == Conditions("gpu_cold", 900_000)
    assert LaunchHold().conditions("end_to_end") == Conditions("end_to_end", 900_000)


@pytest.mark.parametrize("metric", ["gpu_warm", "graph"])
def test_calls_that_are_made_twice_have_other_inputs_the_first_time(metric: Metric) -> None:
    assert LaunchHold().conditions(metric) == Conditions(metric, 900_000, late_inputs=True)


def test_a_turn_counts_unless_most_of_its_launches_came_too_late() -> None:
    hold = LaunchHold()
    assert not noted(hold, "eager", False, True, True)
    assert not noted(hold, "eager", True, True, True)
    assert noted(hold, "eager", False, False, True)
    assert hold.metric == "gpu_cold"


def test_what_is_late_in_every_arms_first_turn_alone_is_no_reason_for_another_metric() -> None:
    hold = LaunchHold()
    assert [noted(hold, arm, *LATE) for arm in ARMS] == [True] * 3
    assert not noted(hold, "solution", True, True, True)
    assert [noted(hold, "solution", *LATE) for _ in range(2)] == [True] * 2
    assert hold.metric == "gpu_cold"


def test_a_solution_that_waits_for_the_device_itself_is_measured_end_to_end() -> None:
    hold = LaunchHold()
    assert [noted(hold, "solution", *LATE) for _ in range(3)] == [True] * 3
    assert hold.conditions() == Conditions("end_to_end", 900_000)
    assert not noted(hold, "solution")  # there is no such proof end to end


def test_for_a_baseline_with_many_launches_the_device_is_held_longer() -> None:
    hold = LaunchHold()
    held_ns = []
    for _ in range(9):
        assert noted(hold, "eager", *LATE)
        held_ns.append(hold.conditions().hold_ns)
    assert held_ns == [900_000] * 2 + [3_600_000] * 3 + [14_400_000] * 3 + [900_000]
    assert hold.metric == "end_to_end", "it waits for the device itself"


def test_a_longer_hold_is_every_arms() -> None:
    hold = LaunchHold()
    for arm in ("eager", "eager", "solution", "solution", "eager"):
        noted(hold, arm, *LATE)
    assert hold.conditions() == Conditions("gpu_cold", 3_600_000)
    assert [noted(hold, "solution", *one) for one in (LATE, (True, True, True))] == [True, False]
    assert hold.conditions("gpu_warm").hold_ns == 3_600_000
    assert [noted(hold, "solution", *LATE) for _ in range(3)] == [True] * 3
    assert hold.metric == "end_to_end"


def test_a_measurement_keeps_its_metric() -> None:
    hold = LaunchHold()
    noted(hold, "eager", *LATE)
    hold.settle()
    assert [noted(hold, "eager", *LATE) for _ in range(4)] == [False] * 4
    assert hold.metric == "gpu_cold"


def test_where_nothing_is_timed_there_is_no_proof_to_miss() -> None:
    assert not noted(LaunchHold(), "eager")
