"""Claims of a worker against what the referee saw."""

from __future__ import annotations

import pytest

from harness.records.verdict import Verdict
from harness.referee.audit import require_plausible
from harness.referee.outcome import SolutionFailed
from harness.referee.timing import ArmTurn


@pytest.mark.parametrize("turn", [ArmTurn((10, 20), 31), ArmTurn((10, 20), 30), ArmTurn((1, 1), 10**9)])
def test_a_plausible_turn_goes_through(turn: ArmTurn) -> None:
    require_plausible(turn, 2)


@pytest.mark.parametrize(
    ("turn", "evidence"),
    [
        (ArmTurn((10,), 100), "1 times were reported for 2 calls"),
        (ArmTurn((10, 10, 10), 100), "3 times were reported for 2 calls"),
        (ArmTurn((), 100), "0 times were reported for 2 calls"),
        (ArmTurn((10, 0), 100), "a call of 0 ns was reported"),
        (ArmTurn((-5, 10), 100), "a call of -5 ns was reported"),
        (
            ArmTurn((60, 41), 100),
            "2 calls are claimed to have taken 101 ns, but the referee waited 100 ns",
        ),
    ],
)
def test_an_impossible_turn_is_cheating_with_its_evidence(turn: ArmTurn, evidence: str) -> None:
    with pytest.raises(SolutionFailed) as caught:
        require_plausible(turn, 2)
    assert (caught.value.verdict, caught.value.failure.reason) == (Verdict.CHEATING, evidence)
