"""Answers in pieces: which dimensions of the inputs can be divided, found by experiment."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from harness.referee.answers import oracle as oracle_module
from harness.referee.answers.oracle import Oracle, _copied
from harness.referee.judgement import judge_values
from harness.referee.setting import Setting, prepare_setting
from tests.referee.answers.test_reference import setting

ONE = "torch.randn(6, 4)"
PRODUCT = "torch.randn(6, 4), torch.randn(4, 3)"
TRANSPOSED = "torch.randn(4, 6), torch.randn(4, 3)"
INDICES = "torch.randn(6, 4), torch.randint(6, (6, 4))"


def unclaimed(tmp_path: Path, forward: str, given: str = ONE, budget: int = 1, init: str = "") -> tuple[Setting, Any]:
    """A problem that claims nothing, whose rows have been looked for, and its inputs."""
    made = setting(tmp_path, forward, given, init, yaml="")
    made.oracle._budget = budget
    inputs = made.reference.make_inputs(3)
    made.oracle.find_rows(inputs)
    return made, inputs


@pytest.mark.parametrize(
    ("forward", "given", "axes"),
    [
        ("return x / x.norm(dim=1, keepdim=True)", ONE, (0,)),
        ("return torch.softmax(x, 1)", ONE, (0,)),
        ("return x.argmax(1)", ONE, (0,)),
        ("return nn.functional.instance_norm(x[:, None])", ONE, (0,)),
        ("return x @ more[0]", PRODUCT, (0, None)),
        ("return x.T @ more[0]", TRANSPOSED, (1, None)),
    ],
)
def test_what_can_be_divided_is_found(tmp_path: Path, forward: str, given: str, axes: tuple[int | None, ...]) -> None:
    made, inputs = unclaimed(tmp_path, forward, given)
    rows = made.oracle.rows(inputs)
    assert rows is not None
    assert (rows.count, rows.axes) == (6, axes)
    pieces = list(made.oracle.pieces(inputs))
    assert [rows for rows, _ in pieces] == [slice(row, row + 1) for row in range(6)]
    (whole,) = made.oracle.answer(inputs)
    torch.testing.assert_close(torch.cat([outputs[0] for _, outputs in pieces]), whole)


@pytest.mark.parametrize(
    ("forward", "given"),
    [
        ("return x / x.norm()", ONE),
        ("return x - x.mean()", ONE),
        ("return torch.softmax(x, 0)", ONE),
        ("return x.cumsum(0)", ONE),
        ("return x.flip(0)", ONE),
        ("return x.triu()", ONE),
        ("return x.view(3, 8).softmax(1).view(6, 4)", ONE),
        ("return x.sum()", ONE),
        ("return x * torch.arange(len(x)).view(-1, 1)", ONE),
        ("return x + (len(x) == 6) * torch.arange(len(x)).view(-1, 1)", ONE),
        ("return nn.functional.batch_norm(x, None, None, training=True)", ONE),
        ("return x.gather(0, more[0])", INDICES),
    ],
)
def test_what_depends_on_other_rows_or_on_its_place_comes_whole(tmp_path: Path, forward: str, given: str) -> None:
    made, inputs = unclaimed(tmp_path, forward, given)
    assert made.oracle.rows(inputs) is None
    assert [rows for rows, _ in made.oracle.pieces(inputs)] == [slice(None)]
    assert made.oracle.kind == "float64"  # what a division raised is none of the whole's


def test_a_model_that_knows_its_batch_comes_whole(tmp_path: Path) -> None:
    made, inputs = unclaimed(tmp_path, "return x + self.h", init="self.register_buffer('h', torch.randn(6, 4))")
    assert made.oracle.rows(inputs) is None


def test_an_answer_that_fits_a_piece_is_not_divided(tmp_path: Path) -> None:
    made, inputs = unclaimed(tmp_path, "return torch.relu(x)", budget=8 * 48)
    assert made.oracle.rows(inputs) is None


@pytest.mark.parametrize(("device", "columns", "is_divided"), [
    ("cpu", 8_000, False), ("cpu", 12_000, True), ("cuda", 300_000, False), ("cuda", 400_000, True),
])  # fmt: skip
def test_rows_are_searched_for_where_that_costs_less_than_judging_all(
    tmp_path: Path, device: str, columns: int, is_divided: bool
) -> None:
    made = setting(tmp_path, "return torch.relu(x)", f"torch.randn(6, {columns})", yaml="")
    made.oracle._device = device  # its memory isn't needed to see how it is divided
    inputs = made.inputs_with_rows(3)
    assert (made.oracle.rows(inputs) is not None) == is_divided


def test_rows_are_searched_for_once_for_all_solutions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made, inputs = unclaimed(tmp_path, "return torch.relu(x)")
    later = prepare_setting(made.problem, made.case, made.master_seed, "cpu", lessons=made.lessons)
    monkeypatch.delattr(Oracle, "_can_divide")
    assert later.inputs_with_rows(3) is not inputs
    assert later.oracle.rows(inputs) == made.oracle.rows(inputs) is not None


def test_a_single_row_is_not_divided_again(tmp_path: Path) -> None:
    made, inputs = unclaimed(tmp_path, "return torch.relu(x)")
    rows = made.oracle.rows(inputs)
    assert rows is not None
    assert made.oracle.rows(rows.of(inputs, slice(2, 3))) is None


class Scarce:
    """A device that holds so many elements of inputs; what the oracle asked of it is kept in `asked`."""

    def __init__(self, oracle: Oracle, monkeypatch: pytest.MonkeyPatch, most: int) -> None:
        self._answer, self._most = oracle.answer, most
        self.asked: list[int] = []
        monkeypatch.setattr(oracle, "answer", self.answer)

    def answer(self, inputs: Any) -> tuple[torch.Tensor, ...]:
        elements = sum(value.numel() for value in inputs)
        self.asked.append(elements)
        if elements > self._most:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return self._answer(inputs)


def test_pieces_become_smaller_where_memory_is_short(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made, inputs = unclaimed(tmp_path, "return torch.relu(x)", budget=8 * 47)
    assert made.tolerances  # derived as long as there is memory
    scarce = Scarce(made.oracle, monkeypatch, most=8)
    checked = judge_values([torch.relu(inputs[0])], inputs, made)
    assert scarce.asked == [20, 12, 8, 8, 8]
    assert (checked[0].compared, checked[0].mismatches) == (24, 0)


def test_what_fits_in_no_piece_is_answered_on_the_host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made, inputs = unclaimed(tmp_path, "return self.w(x) / x.norm()", init="self.w = nn.Linear(4, 2)")
    Scarce(made.oracle, monkeypatch, most=0)
    got = made.oracle.native(inputs)[0].clone()
    got[4, 1] += 1
    (checked,) = judge_values([got], inputs, made)
    assert (checked.compared, checked.mismatches) == (12, 1)
    assert checked.first_mismatches[0].index == (4, 1)


def test_a_host_without_room_is_a_shortage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made, inputs = unclaimed(tmp_path, "return x / x.norm()")
    Scarce(made.oracle, monkeypatch, most=0)
    monkeypatch.setattr(oracle_module, "available_bytes", lambda: 100)
    with pytest.raises(torch.OutOfMemoryError):
        list(made.oracle.pieces(inputs))


@pytest.mark.parametrize(
    ("init", "forward"),
    [
        ("self.w = nn.LSTM(4, 2, batch_first=True)", "return self.w(x)[0]"),
        ("self.w = nn.Sequential(nn.Linear(4, 2))", "return self.w(x)"),
        (
            "self.w, self.kept = nn.Linear(4, 2), None",
            "if self.kept is None:\n    self.kept = torch.ones(4, 1, dtype=x.dtype)\nreturn self.w(x) + x @ self.kept",
        ),
    ],
    ids=["recurrent", "nested", "what a call keeps"],
)
def test_a_model_made_double_for_a_call_answers_like_one_that_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, init: str, forward: str
) -> None:
    made = setting(tmp_path, forward, ONE, init=init, yaml="")
    model, inputs = made.reference.construct(5), made.reference.make_inputs(3)
    (want,) = Oracle(made.reference, model, made.spec).answer(inputs)
    monkeypatch.setattr(oracle_module, "piece_bytes", lambda device: 0)
    made.reference.device = "cuda"
    large = Oracle(made.reference, model, made.spec)
    made.reference.device = large._device = "cpu"  # there is no other here
    large.native(inputs)
    (got,) = large.answer(inputs)
    assert (large.kind, got.dtype) == ("float64", torch.float64)
    torch.testing.assert_close(got, want)
    assert {tensor.dtype for tensor in model.parameters()} == {torch.float32}


def test_tied_parameters_stay_tied_in_a_copy() -> None:
    model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 2))
    model[1].weight = model[0].weight
    copied = _copied(model, "cpu")
    assert copied[1].weight is copied[0].weight
    assert copied[0].weight is not model[0].weight
