"""Whose fault a failure is while both sides take timed turns."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from harness.records.config import Config
from harness.records.timing import ArmName
from harness.records.verdict import Verdict
from harness.referee import timed_case
from harness.referee.outcome import SolutionFailed
from harness.referee.reference import InvalidProblem
from harness.referee.timed_case import WorkerPlayer


@pytest.mark.parametrize(("arm", "blamed"), [("solution", SolutionFailed), ("eager", InvalidProblem)])
def test_failure_in_a_timed_turn_is_blamed_on_its_arm(
    arm: ArmName, blamed: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*arguments: Any) -> None:
        raise SolutionFailed(Verdict.OUT_OF_MEMORY, "no memory left")

    monkeypatch.setattr(timed_case, "take_turn", fail)
    setting: Any = SimpleNamespace(
        seed=lambda *purpose: 1, reference=SimpleNamespace(make_inputs=lambda seed: [], on_gpu=False)
    )
    table: Any = SimpleNamespace(lay_inputs=lambda inputs: None)
    workers: Any = {"eager": object(), "solution": object()}
    player = WorkerPlayer(table, workers, setting, Config())
    with pytest.raises(blamed, match="no memory left"):
        player.turn(arm, 1)
