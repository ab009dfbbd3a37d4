"""A turn as the arm takes it."""

from __future__ import annotations

from typing import Any

import torch

from harness.backends.base import Conditions
from harness.protocol.messages import Construct, TakeTurn
from harness.protocol.values import encode_value
from harness.worker.arm import Arm
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


def test_a_trace_begins_before_anything_else_of_a_turn_runs() -> None:
    """Else a thread that a turn wakes up has the time of the heat for itself."""
    device, extensions = Noting(), type("NoExtensions", (), {"take_reports": lambda self: ()})()
    given: Any = extensions
    arm = Arm(device, given)
    arm._class = torch.nn.Identity
    arm.construct(Construct(encode_value([]), 7, ()))
    arm.take_turn(TakeTurn((), Conditions(), traced=True))
    assert device.told == ["trace", "begin"]
    arm.take_turn(TakeTurn((), Conditions()))
    assert device.told == ["trace", "begin", "begin"]
