"""Whose fault a failure is while both sides take timed turns."""

from __future__ import annotations

import contextlib
from types import SimpleNamespace
from typing import Any

import pytest

from harness.records.config import Config, TimingConfig
from harness.records.timing import ArmName
from harness.records.verdict import Verdict
from harness.referee import timed_case
from harness.referee.outcome import SolutionFailed
from harness.referee.reference import InvalidProblem
from harness.referee.seats import BaselineFailed, Seats
from harness.referee.timed_case import WorkerPlayer


@pytest.mark.parametrize(
    ("arm", "blamed"),
    [("solution", SolutionFailed), ("eager", InvalidProblem), ("channels-last", BaselineFailed)],
)
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
    workers: Any = dict.fromkeys(("eager", "channels-last", "solution"))
    player = WorkerPlayer(table, workers, setting, Config(timing=TimingConfig(baselines=("eager", "channels-last"))))
    with pytest.raises(blamed, match="no memory left"):
        player.turn(arm, 1)


class _Worker:
    """Remembers that it was ended."""

    is_closed = False

    def close(self) -> None:
        self.is_closed = True


def test_a_baseline_that_is_left_out_gives_its_memory_back_and_is_remarked_on() -> None:
    unseated: list[Any] = []
    references: Any = {"eager": _Worker(), "compile": _Worker(), "channels-last": _Worker()}
    table: Any = SimpleNamespace(unseat=unseated.append)
    seats = Seats(table, references)
    seats.taken = ("eager", "compile", "channels-last")
    seats.leave_out(("channels-last",), "CUDA out of memory")
    assert seats.taken == ("eager", "compile")
    assert set(seats.workers) == {"eager", "compile"}
    assert unseated == [references["channels-last"]]
    assert [worker.is_closed for worker in references.values()] == [False, False, True]
    assert seats.remarks == ["baseline channels-last is left out: CUDA out of memory"]
    assert seats.can_leave_out
    seats.leave_out(("compile",), "too")
    assert not seats.can_leave_out


@pytest.mark.parametrize("is_scarce", [True, False])
def test_memory_that_a_second_baseline_takes_is_not_the_solutions_fault(
    is_scarce: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The solution runs out of memory beside two baselines, and runs beside one; if memory is free, it only says so."""
    seatings: list[tuple[str, ...]] = []

    class FakeSeats(Seats):
        def fill(self, *arguments: Any) -> None:
            self.taken = ("eager", "compile")

    def measured(player: Any, config: TimingConfig, *others: Any) -> str:
        seatings.append(config.baselines)
        if len(config.baselines) > 1:
            raise SolutionFailed(Verdict.OUT_OF_MEMORY, "no memory left")
        return "timing"

    table: Any = SimpleNamespace(
        lay_inputs=lambda inputs: None, seat=lambda worker, limit: None, unseat=lambda worker: None
    )
    monkeypatch.setattr(timed_case, "Seats", FakeSeats)
    monkeypatch.setattr(timed_case, "measure", measured)
    monkeypatch.setattr(timed_case, "construct_arm", lambda *arguments: None)
    monkeypatch.setattr(timed_case, "Table", lambda host, spec: contextlib.nullcontext(table))
    monkeypatch.setattr(timed_case, "is_memory_scarce", lambda: is_scarce)
    setting: Any = SimpleNamespace(
        spec=None, seed=lambda *purpose: 1, reference=SimpleNamespace(make_inputs=lambda seed: [])
    )
    references: Any = {"eager": _Worker(), "compile": _Worker()}
    anything: Any = object()
    if not is_scarce:
        with pytest.raises(SolutionFailed, match="no memory left"):
            timed_case.time_solution(setting, anything, anything, references, Config(), lambda what: None)
        assert seatings == [("eager", "compile")]
        assert not references["compile"].is_closed
        return
    outcome = timed_case.time_solution(setting, anything, anything, references, Config(), lambda what: None)
    assert seatings == [("eager", "compile"), ("eager",)]
    assert references["compile"].is_closed
    assert outcome.remarks == ("baseline compile is left out: beside it there is too little memory for the solution",)
