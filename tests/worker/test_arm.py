"""A turn as the arm takes it."""

from __future__ import annotations

from typing import Any

import torch

from harness.backends.base import Conditions, KernelRun
from harness.protocol.messages import Construct, TakeTurn
from harness.protocol.values import encode_value
from harness.worker.arm import Arm
from harness.worker.guard import Guard
from tests.referee.desk import DeskDevice


class Noting(DeskDevice):
    """Writes down what it is told."""

    def __init__(self) -> None:
        super().__init__((None,), 0)
        self.told: list[str] = []

    def begin(self, conditions: Conditions) -> None:
        self.told.append("begin")

    def start_trace(self) -> None:
        self.told.append("trace")


def arm_of(device: DeskDevice) -> Arm:
    extensions = type("NoExtensions", (), {"take_reports": lambda self: ()})()
    given: Any = extensions
    arm = Arm(device, given)
    arm._class, arm._guard, arm._is_guarded = torch.nn.Identity, Guard(device), True
    arm.construct(Construct(encode_value([]), 7, ()))
    return arm


class Forging(DeskDevice):
    """Whose trace is exchanged during a turn, and put back where it is taken."""

    def begin(self, conditions: Conditions) -> None:
        self.take_trace = self.forged  # type: ignore[method-assign]

    def start_trace(self) -> None: ...

    def forged(self) -> tuple[KernelRun, ...]:
        del self.take_trace
        return ()


def test_what_a_forged_trace_puts_back_is_found_before() -> None:
    arm = arm_of(Forging((None,), 0))
    guard: Any = type("Looking", (), {"patched": lambda self: ("take_trace",) * ("take_trace" in vars(arm.device))})()
    arm._guard = guard
    assert arm.take_turn(TakeTurn((), Conditions(), traced=True)).patched == ("take_trace",)
    assert vars(arm.device).keys().isdisjoint({"take_trace"})


def test_a_guard_that_is_gone_is_found() -> None:
    arm = arm_of(Noting())
    assert arm.take_turn(TakeTurn((), Conditions())).patched == ()
    arm._guard = None
    assert arm.take_turn(TakeTurn((), Conditions())).patched == ("harness.worker.arm.Arm._guard",)


def test_a_trace_begins_before_anything_else_of_a_turn_runs() -> None:
    """Else a thread that a turn wakes up has what comes before the first call for itself."""
    device = Noting()
    arm = arm_of(device)
    arm.take_turn(TakeTurn((), Conditions(), traced=True))
    assert device.told == ["trace", "begin"]
    arm.take_turn(TakeTurn((), Conditions()))
    assert device.told == ["trace", "begin", "begin"]
