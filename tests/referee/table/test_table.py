"""The inputs on the table: buffers stay, what they hold and plain values are fresh."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from harness.cudasim import Toolkit
from harness.devices.sim.host import SimHost
from harness.model.verdict import Verdict
from harness.referee.answers.reference import InvalidProblem, OutputSpec
from harness.referee.table.table import Table
from harness.sandbox.outcome import SolutionFailed
from harness.sandbox.wire.messages import Argument, TensorRef, TurnTaken


@pytest.fixture
def table() -> Iterator[Table]:
    host = SimHost(Toolkit(Path("never-built")))
    with Table(host, OutputSpec("tensor", (torch.float32,), ((2, 2),)), places=2) as table:
        yield table


def _arguments(table: Table) -> list[Argument]:
    return table._places[0].arguments


def test_plain_inputs_are_those_of_the_last_laying(table: Table) -> None:
    table.lay_inputs([torch.zeros(3), 1])
    table.lay_inputs([torch.ones(3), 2])
    tensor, plain = _arguments(table)
    assert plain.value == 2
    assert tensor.tensor is not None
    assert table._view(tensor.tensor).tolist() == [1.0, 1.0, 1.0]


def test_dense_strides_survive_and_overlapping_ones_become_contiguous(table: Table) -> None:
    table.lay_inputs([torch.arange(6.0).view(2, 3).t(), torch.ones(1).expand(4)])
    refs = [argument.tensor for argument in _arguments(table)]
    assert [ref.stride for ref in refs if ref] == [(1, 3), (1,)]


@pytest.mark.parametrize("second", [[torch.zeros(4)], [torch.zeros(3, dtype=torch.float64)], [7], []])
def test_inputs_that_change_their_form_are_the_problems_fault(table: Table, second: list[object]) -> None:
    table.lay_inputs([torch.zeros(3)])
    with pytest.raises(InvalidProblem, match="at every call"):
        table.lay_inputs(second)


def test_input_that_is_no_plain_value_is_the_problems_fault(table: Table) -> None:
    with pytest.raises(InvalidProblem, match="plain values belong"):
        table.lay_inputs([object()])


def test_places_have_buffers_of_their_own(table: Table) -> None:
    table.lay_inputs([torch.zeros(3), 1], 0)
    table.lay_inputs([torch.ones(3), 2], 1)
    assert table.places == 2
    assert [value.tolist() if isinstance(value, torch.Tensor) else value for value in table.values(0)] == [[0, 0, 0], 1]
    assert [value.tolist() if isinstance(value, torch.Tensor) else value for value in table.values(1)] == [[1, 1, 1], 2]
    assert set(table.inputs(0)) == set(table.inputs(1)) == {0}
    assert table.inputs(0)[0].data_ptr() != table.inputs(1)[0].data_ptr()
    assert table.outputs(0)[0].data_ptr() != table.outputs(1)[0].data_ptr()


class Silent:
    """Answers a turn with no calls at all."""

    def ask(self, request: Any, timeout_s: float) -> TurnTaken:
        return TurnTaken((), (), 0)


def test_an_answer_to_another_number_of_calls_is_no_answer(table: Table) -> None:
    worker: Any = Silent()
    with pytest.raises(SolutionFailed, match="a turn of 2 calls was answered with 0") as caught:
        table.take_turn(worker, 1.0, (1, 0))
    assert caught.value.verdict is Verdict.CHEATING
    assert caught.value.failure.evidence[0].numbers == {"asked": 2, "answered": 0}


def test_buffer_is_seen_through_its_reference(table: Table) -> None:
    (output,) = table.outputs()
    output.fill_(5.0)
    ref = TensorRef(table._places[0].outputs[0].buffer, "float32", (3,), (1,), offset=4)
    assert table._view(ref).tolist() == [5.0, 5.0, 5.0]
