"""The inputs on the table: buffers stay, what they hold and plain values are fresh."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from harness.backends.sim.host import SimHost
from harness.backends.sim.toolkit import Toolkit
from harness.protocol.messages import Argument, TensorRef
from harness.referee.reference import InvalidProblem, OutputSpec
from harness.referee.table import Table


@pytest.fixture
def table() -> Iterator[Table]:
    host = SimHost(Toolkit(Path("never-built")))
    with Table(host, OutputSpec("tensor", (torch.float32,), ((2, 2),))) as table:
        yield table


def _arguments(table: Table) -> list[Argument]:
    return table._arguments


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


def test_buffer_is_seen_through_its_reference(table: Table) -> None:
    (output,) = table.outputs()
    output.fill_(5.0)
    ref = TensorRef(table._outputs[0].buffer, "float32", (3,), (1,), offset=4)
    assert table._view(ref).tolist() == [5.0, 5.0, 5.0]
