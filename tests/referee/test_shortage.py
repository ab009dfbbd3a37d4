"""Who is blamed where the GPU's memory runs out on the trusted side."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from harness.builder.workers import Workers
from harness.devices.choice import open_host
from harness.errors import MachineError
from harness.model.config import Config
from harness.model.evaluation import Evaluation
from harness.model.verdict import Verdict
from harness.referee import shortage
from harness.referee.answers.invalid_problem import InvalidProblem
from harness.referee.buffers.case_turns import CaseTurns
from harness.referee.buffers.turns import Taken
from harness.referee.judging import Judging
from harness.referee.shortage import is_shortage, let_go
from harness.run.cache import cache_folder
from harness.sandbox.outcome import SolutionFailed
from tests.examples import check, comparison
from tests.referee.answers.test_reference import problem
from tests.referee.recorded import recorded


def because_of(error: Exception, cause: Exception) -> Exception:
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("error", "is_short"),
    [
        (torch.OutOfMemoryError("CUDA out of memory"), True),
        (MemoryError("the GPU has no 2.0 GiB left for a shared buffer"), True),
        (MachineError("a worker didn't start: AcceleratorError: CUDA error: out of memory"), True),
        (because_of(InvalidProblem("(eager)"), SolutionFailed(Verdict.OUT_OF_MEMORY, "no memory")), True),
        (because_of(InvalidProblem("(eager)"), SolutionFailed(Verdict.RUNTIME_ERROR, "too few rows")), False),
        (SolutionFailed(Verdict.OUT_OF_MEMORY, "CUDA out of memory"), True),
        (SolutionFailed(Verdict.WRONG_VALUES, "out of memory"), False),
        (because_of(SolutionFailed(Verdict.CRASHED, "gone"), MemoryError()), False),
        (InvalidProblem("get_inputs() failed"), False),
    ],
)
def test_shortages_are_told_from_other_failures(error: Exception, is_short: bool) -> None:
    assert is_shortage(error) is is_short


class Held:
    """What a frame holds."""


def returned(held: list[weakref.ref[Held]]) -> Exception:
    """A failure that is caught, and returned through a frame that holds something."""
    own = Held()
    held.append(weakref.ref(own))
    try:
        raise KeyError
    except KeyError as error:
        return error


def test_a_failure_lets_go_of_what_its_frames_hold() -> None:
    held: list[weakref.ref[Held]] = []

    def fail() -> None:
        failed = returned(held)
        own = Held()
        held.append(weakref.ref(own))
        raise failed

    gc.disable()
    try:
        with pytest.raises(KeyError) as raised:
            fail()
        assert all(one() is not None for one in held)
        let_go(raised.value)
        assert [one() for one in held] == [None, None]
    finally:
        gc.enable()


def test_what_may_yet_go_on_is_left_alone() -> None:
    def failures() -> Iterator[Exception]:
        while True:
            yield returned([])

    going = failures()
    with pytest.raises(KeyError) as raised:
        raise next(going)
    let_go(raised.value)
    assert isinstance(next(going), KeyError)


@pytest.mark.sim
def test_in_its_place_the_reference_takes_a_solutions_turns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What torch's allocator keeps of a call may not do for the next."""
    turns: list[tuple[int, bool]] = []
    take = CaseTurns.take

    def recorded(case: CaseTurns, worker: Any, laid: Any) -> Taken:
        taken = take(case, worker, laid)
        turns.append((len(taken.asked.calls), taken.asked.keeps_outputs))
        return taken

    monkeypatch.setattr(CaseTurns, "take", recorded)
    job: Any = SimpleNamespace(problem=problem(tmp_path, "return torch.relu(x)", yaml=""), seed=1, config=Config())
    with Workers(open_host("sim", cache_folder(), lambda what: None), tmp_path / "cache") as workers:
        shortage._repeat(job, "full", False, workers)
    assert turns == [(2, True), (2, True)]


def fake_memory(monkeypatch: pytest.MonkeyPatch, free_gib: int) -> None:
    """A GPU of which nobody else holds anything."""
    monkeypatch.setattr("torch.cuda.mem_get_info", lambda: (free_gib * 2**30, 140 * 2**30))
    for name in ("memory_reserved", "memory_allocated"):
        monkeypatch.setattr(f"torch.cuda.{name}", lambda: 0)


def evaluated(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    works_alone: bool,
    stages: tuple[str, ...],
    error: Exception = because_of(
        InvalidProblem("the reference fails in its worker (eager)"),
        SolutionFailed(Verdict.OUT_OF_MEMORY, "CUDA out of memory"),
    ),
    idle: Sequence[Any] = (),
) -> tuple[Evaluation, list[Any]]:
    """An evaluation that ran out of memory while these stages were timed, and the attempts without the solution. Beside
    `idle` workers it fails, without it passes."""
    attempts: list[Any] = []

    def judge(judging: Any) -> None:
        judging.found.case = "full"
        judging.found.stages_s |= dict.fromkeys(stages, 1.0)
        judging.found.remarks.append(f"beside {len(judging.workers.idle)}")
        if judging.workers.idle or not idle:
            raise error
        judging.found.checks.append(check(comparison()))

    def repeat(job: Any, case: str, is_timed: bool, workers: Any) -> None:
        attempts.append((case, is_timed))
        if not works_alone:
            raise torch.OutOfMemoryError("CUDA out of memory")

    monkeypatch.setattr(Judging, "once", judge)
    monkeypatch.setattr("harness.referee.shortage._repeat", repeat)
    monkeypatch.setattr("harness.referee.shortage._CLEANING_S", 0.0)
    fake_memory(monkeypatch, free_gib=80)
    host: Any = SimpleNamespace(name="cuda")
    return recorded(tmp_path, Workers(host, tmp_path, idle=list(idle))), attempts


@pytest.mark.parametrize(("stages", "is_timed"), [(("correctness",), False), (("correctness", "timing"), True)])
def test_a_solution_that_leaves_the_reference_no_memory_is_blamed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stages: tuple[str, ...], is_timed: bool
) -> None:
    evaluation, (attempt,) = evaluated(tmp_path, monkeypatch, works_alone=True, stages=stages)
    assert evaluation.verdict is Verdict.OUT_OF_MEMORY
    assert evaluation.failure is not None
    assert "too little is left" in evaluation.failure.reason
    assert attempt == ("full", is_timed)


def test_a_problem_that_is_too_large_without_a_solution_is_unsupported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    evaluation, attempts = evaluated(tmp_path, monkeypatch, works_alone=False, stages=("correctness", "timing"))
    assert evaluation.verdict is Verdict.UNSUPPORTED
    assert evaluation.failure is not None
    assert "80.0 GiB" in evaluation.failure.reason
    assert len(attempts) == 3  # the driver may still be cleaning up after the solution


@pytest.mark.parametrize(("works_alone", "verdict"), [(True, Verdict.OUT_OF_MEMORY), (False, Verdict.UNSUPPORTED)])
def test_a_solution_s_own_shortage_is_its_verdict_where_the_reference_in_its_place_has_enough(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, works_alone: bool, verdict: Verdict
) -> None:
    error = SolutionFailed(Verdict.OUT_OF_MEMORY, "OutOfMemoryError in forward()")
    evaluation, _ = evaluated(tmp_path, monkeypatch, works_alone, ("correctness",), error)
    assert evaluation.verdict is verdict
    assert evaluation.failure is not None
    assert ("in forward()" in evaluation.failure.reason) is works_alone


class Idle:
    """A worker for the next solution."""

    def __init__(self) -> None:
        self.made = None
        self.told: list[str] = []

    def kill(self) -> None:
        self.told.append("kill")

    def close(self) -> None:
        self.told.append("close")


@pytest.mark.parametrize(
    "error", [InvalidProblem("the reference fails in its worker"), torch.OutOfMemoryError("CUDA out of memory")]
)
def test_before_anybody_is_blamed_all_is_judged_again_without_the_workers_that_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    waiting = Idle()
    evaluation, attempts = evaluated(tmp_path, monkeypatch, True, ("correctness",), error, [waiting])
    assert evaluation.verdict is Verdict.PASSED
    assert [one for one in evaluation.remarks if "beside" in one] == ["beside 0"]
    assert evaluation.stages_s["correctness"] == 2.0
    assert waiting.told == ["kill", "close"]
    assert attempts == []
