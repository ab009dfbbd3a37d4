"""References whose inputs are made of several tensors."""

from __future__ import annotations

import copy
from pathlib import Path

import pytest
import torch

from harness.referee.answers.invalid_problem import InvalidProblem
from harness.referee.answers.reference import Reference
from harness.referee.answers.rows import is_floating
from harness.referee.mutants.problem_check import check_problem
from harness.referee.setting import prepare_setting
from harness.workspace.problem import load_problem
from tests.files import laid
from tests.problem_text import problem_text
from tests.wording import tells

CACHE = ("cache", "x * cache['scale'] + cache['past'][0]", "{'past': [torch.randn(4, 3)], 'scale': torch.randn(3)}")
RAGGED = (
    "ragged",
    "x + torch.nested.to_padded_tensor(ragged, 0.0).sum(1)",
    "torch.nested.nested_tensor([torch.randn(n, 3) for n in (1, 2, 3, 1)], layout=torch.jagged)",
)


def reference(tmp_path: Path, more: str, returned: str, inputs: str, yaml: str = "", tail: str = "") -> Reference:
    text = problem_text(returned, f"torch.randn(4, 3), {inputs}", constants="import random", given=f"x, {more}") + tail
    return Reference(load_problem(laid(tmp_path / "made", {"problem.py": text, "problem.yaml": yaml})), "full", "cpu")


@pytest.mark.parametrize("made", [CACHE, RAGGED])
def test_models_and_their_copies_take_the_parts(tmp_path: Path, made: tuple[str, str, str]) -> None:
    found = reference(tmp_path, *made)
    model, parts = found.construct(0), found.make_inputs(0)
    assert all(one.layout is torch.strided for one in parts if isinstance(one, torch.Tensor))
    doubled = copy.deepcopy(model).double()(*(one.double() if is_floating(one) else one for one in parts))
    assert torch.allclose(doubled.float(), model(*parts))


@pytest.mark.parametrize(
    ("inputs", "seen"),
    [
        ("{'past': [torch.ones(1)], 'n': 2}", "{'past': [tensor([1.])], 'n': 2}"),
        ("(torch.ones(1), [1, 2])", "(tensor([1.]), [1, 2])"),
        ("torch.eye(2).to_sparse_coo()", "tensor(indices=tensor([[0, 1],\n                       [0, 1]]),"),
    ],
)
def test_forward_gets_what_get_inputs_returned(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], inputs: str, seen: str
) -> None:
    found = reference(tmp_path, "more", "print(more) or x", inputs)
    found.construct(0)(*found.make_inputs(0))
    assert seen in capfd.readouterr().err


def test_padding_has_the_longest_sequence(tmp_path: Path) -> None:
    found = reference(tmp_path, "ragged", "torch.nested.to_padded_tensor(ragged, 0.0)", RAGGED[2])
    spec = found.output_spec(found.construct(0), found.make_inputs(0))
    assert spec.shapes == ((4, 3, 3),)


@pytest.mark.filterwarnings("ignore:.*torch.jit.* is deprecated")
def test_a_scripted_model_is_called_as_it_is(tmp_path: Path) -> None:
    found = reference(
        tmp_path, "more", "x + more", "torch.ones(3)", tail="Model = lambda made=Model: torch.jit.script(made())"
    )
    assert found.construct(0)(torch.ones(3), torch.ones(3)).tolist() == [2.0, 2.0, 2.0]


@pytest.mark.parametrize("returned", ["more", "more * 2"])
@pytest.mark.parametrize("inputs", ["torch.eye(3).to_sparse_csr()", RAGGED[2]])
@pytest.mark.filterwarnings("ignore:Sparse CSR tensor support is in beta")
def test_an_output_that_is_not_dense_is_the_problems_mistake(tmp_path: Path, inputs: str, returned: str) -> None:
    found = reference(tmp_path, "more", returned, inputs)
    with pytest.raises(InvalidProblem, match="sparse or nested"):
        found.output_spec(found.construct(0), found.make_inputs(0))


@pytest.mark.filterwarnings("ignore:Sparse CSR tensor support is in beta")
def test_another_number_of_stored_elements_is_named(tmp_path: Path) -> None:
    """Indices of one draw with values of another would be read out of bounds."""
    sparse = "(torch.rand(9, 4) * (torch.rand(9, 4) < 0.5)).to_sparse_csr()"
    found = reference(
        tmp_path, "more", "torch.sparse.mm(more, x)", sparse, yaml="tolerance: {atol: 1.0e-6, rtol: 1.0e-6}"
    )
    problem = load_problem(Path(found.path).parent)
    (complaint,) = check_problem(problem, ["full"], 3, "cpu", lambda what: None).complaints
    assert tells(complaint, "stores")


def test_an_inputs_parts_have_gradients_under_its_name(tmp_path: Path) -> None:
    found = reference(tmp_path, *CACHE, yaml="backward: true")
    spec = found.output_spec(found.construct(0), found.make_inputs(0))
    assert spec.gradients == ("x", "cache['past'][0]", "cache['scale']")
    assert spec.shapes == ((4, 3), (4, 3), (4, 3), (3,))


@pytest.mark.parametrize(
    ("inputs", "word"),
    [
        ("[torch.randn(3)] * random.randint(1, 9)", "structure"),
        ("torch.nested.nested_tensor([torch.randn(1, 3), torch.randn(2, 3)])", "jagged"),
    ],
)
@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors is in prototype")
def test_inputs_of_no_lasting_form_are_the_problems_mistake(tmp_path: Path, inputs: str, word: str) -> None:
    found = reference(tmp_path, "more", "x", inputs)
    with pytest.raises(InvalidProblem, match=word):
        [found.make_inputs(seed) for seed in range(9)]


def test_jagged_inputs_are_not_divided_into_rows(tmp_path: Path) -> None:
    found = reference(tmp_path, *RAGGED, yaml="independent_batch: true")
    problem = load_problem(Path(found.path).parent)
    setting = prepare_setting(problem, "full", 0, "cpu")
    with pytest.raises(InvalidProblem, match="independent_batch"):
        setting.oracle.find_rows(setting.reference.make_inputs(0))
