"""The inputs in the slots: buffers stay, what they hold and plain values are fresh."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from harness.cudasim.toolkit import Toolkit
from harness.devices.sim.host import SimHost
from harness.model.config import LimitsConfig
from harness.model.verdict import Verdict
from harness.referee.answers.invalid_problem import InvalidProblem
from harness.referee.answers.output_spec import OutputSpec
from harness.referee.buffers.buffers import Buffers
from harness.referee.buffers.turns import take_turn
from harness.sandbox.outcome import SolutionFailed
from harness.sandbox.process import Made
from harness.sandbox.wire.messages import Argument, Detach, Done, TakeTurn, TensorRef, TurnTaken


@pytest.fixture
def buffers() -> Iterator[Buffers]:
    host = SimHost(Toolkit(Path("never-built")))
    with Buffers(host, OutputSpec("tensor", (torch.float32,), ((2, 2),)), slots=2) as buffers:
        yield buffers


def _arguments(buffers: Buffers) -> list[Argument]:
    return buffers._slots[0].arguments


def test_plain_inputs_are_those_of_the_last_laying(buffers: Buffers) -> None:
    buffers.lay_inputs([torch.zeros(3), 1])
    buffers.lay_inputs([torch.ones(3), 2])
    tensor, plain = _arguments(buffers)
    assert plain.value == 2
    assert tensor.tensor is not None
    assert buffers._view(tensor.tensor).tolist() == [1.0, 1.0, 1.0]


def test_dense_strides_survive_and_overlapping_ones_become_contiguous(buffers: Buffers) -> None:
    buffers.lay_inputs([torch.arange(6.0).view(2, 3).t(), torch.ones(1).expand(4)])
    refs = [argument.tensor for argument in _arguments(buffers)]
    assert [ref.stride for ref in refs if ref] == [(1, 3), (1,)]


@pytest.mark.parametrize("second", [[torch.zeros(4)], [torch.zeros(3, dtype=torch.float64)], [7], []])
def test_inputs_that_change_their_form_are_the_problems_fault(buffers: Buffers, second: list[object]) -> None:
    buffers.lay_inputs([torch.zeros(3)])
    with pytest.raises(InvalidProblem, match="get_inputs"):
        buffers.lay_inputs(second)


def test_input_that_is_no_plain_value_is_the_problems_fault(buffers: Buffers) -> None:
    with pytest.raises(InvalidProblem, match="plain values belong"):
        buffers.lay_inputs([object()])


def test_slots_have_buffers_of_their_own(buffers: Buffers) -> None:
    buffers.lay_inputs([torch.zeros(3), 1], 0)
    buffers.lay_inputs([torch.ones(3), 2], 1)
    assert buffers.slots == 2
    assert [value.tolist() if isinstance(value, torch.Tensor) else value for value in buffers.values(0)] == [
        [0, 0, 0],
        1,
    ]
    assert [value.tolist() if isinstance(value, torch.Tensor) else value for value in buffers.values(1)] == [
        [1, 1, 1],
        2,
    ]
    assert set(buffers.inputs(0)) == set(buffers.inputs(1)) == {0}
    assert buffers.inputs(0)[0].data_ptr() != buffers.inputs(1)[0].data_ptr()
    assert buffers.outputs(0)[0].data_ptr() != buffers.outputs(1)[0].data_ptr()


class Silent:
    """Answers a turn with no calls at all."""

    def ask(self, request: Any, timeout_s: float) -> TurnTaken:
        return TurnTaken((), (), 0)


def test_an_answer_to_another_number_of_calls_is_no_answer(buffers: Buffers) -> None:
    worker: Any = Silent()
    with pytest.raises(SolutionFailed, match=r"2 calls .* 0") as caught:
        take_turn(worker, buffers, TakeTurn(buffers.calls((1, 0))), LimitsConfig())
    assert caught.value.verdict is Verdict.CHEATING
    assert caught.value.failure.evidence[0].numbers == {"asked": 2, "answered": 0}


def test_buffer_is_seen_through_its_reference(buffers: Buffers) -> None:
    (output,) = buffers.outputs()
    output.fill_(5.0)
    ref = TensorRef(buffers._slots[0].outputs[0].buffer, "float32", (3,), (1,), offset=4)
    assert buffers._view(ref).tolist() == [5.0, 5.0, 5.0]


class Detaching:
    """A worker that answers, or doesn't, and remembers what it was asked."""

    def __init__(self, made: Made | None, answers: bool = True) -> None:
        self.made = made
        self.asked: list[object] = []
        self._answers = answers

    def ask(self, request: object, timeout_s: float, descriptors: object = ()) -> Done:
        self.asked.append(type(request).__name__)
        if not self._answers and isinstance(request, Detach):
            raise SolutionFailed(Verdict.TIMEOUT, "no answer")
        return Done()


@pytest.mark.parametrize("error", [SolutionFailed(Verdict.WRONG_VALUES, "wrong"), RuntimeError("ours")])
def test_after_a_failure_of_the_solution_those_let_go_of_buffers_who_have_made_what_others_want(
    error: Exception,
) -> None:
    buffers = Buffers(SimHost(Toolkit(Path("never-built"))), OutputSpec("tensor", (torch.float32,), ((2, 2),)))
    made = Made(("eager",), (None, 0), None)
    staying, dumb, solution = Detaching(made), Detaching(made, answers=False), Detaching(None)
    for worker in (staying, dumb, solution):
        buffers.attach(worker, 1)  # type: ignore[arg-type]
    with pytest.raises(type(error)), buffers:
        raise error
    is_solutions = isinstance(error, SolutionFailed)
    assert staying.made == (made if is_solutions else None)
    assert dumb.made is None
    assert ("Detach" in staying.asked) == is_solutions
    assert "Detach" not in solution.asked
