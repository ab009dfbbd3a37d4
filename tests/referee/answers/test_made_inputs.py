"""References whose inputs are made of several tensors."""

from __future__ import annotations

import copy
from pathlib import Path

import pytest
import torch

from harness.referee.answers.reference import InvalidProblem, Reference
from harness.referee.setting import prepare_setting
from harness.workspace.problem import load_problem

MODEL = """
import random
import torch

class Model(torch.nn.Module):
    def forward(self, x, {more}):
        return {returned}

def get_inputs():
    return [torch.randn(4, 3), {inputs}]

def get_init_inputs():
    return []
"""
CACHE = ("cache", "x * cache['scale'] + cache['past'][0]", "{'past': [torch.randn(4, 3)], 'scale': torch.randn(3)}")
RAGGED = (
    "ragged",
    "x + torch.nested.to_padded_tensor(ragged, 0.0).sum(1)",
    "torch.nested.nested_tensor([torch.randn(n, 3) for n in (1, 2, 3, 1)], layout=torch.jagged)",
)


def reference(tmp_path: Path, more: str, returned: str, inputs: str, yaml: str = "") -> Reference:
    folder = tmp_path / "made"
    folder.mkdir()
    text = MODEL.replace("{more}", more).replace("{returned}", returned).replace("{inputs}", inputs)
    (folder / "problem.py").write_text(text)
    (folder / "problem.yaml").write_text(yaml)
    return Reference(load_problem(folder), "full", "cpu")


@pytest.mark.parametrize("made", [CACHE, RAGGED])
def test_models_and_their_copies_take_the_parts(tmp_path: Path, made: tuple[str, str, str]) -> None:
    found = reference(tmp_path, *made)
    model, parts = found.construct(0), found.make_inputs(0)
    assert len(parts) == 3
    assert all(one.layout is torch.strided for one in parts)
    doubled = copy.deepcopy(model).double()(*(one.double() if one.is_floating_point() else one for one in parts))
    assert torch.allclose(doubled.float(), model(*parts))


def test_an_inputs_parts_have_gradients_under_its_name(tmp_path: Path) -> None:
    found = reference(tmp_path, *CACHE, yaml="backward: true")
    spec = found.output_spec(found.construct(0), found.make_inputs(0))
    assert spec.gradients == ("x", "cache", "cache")
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
        setting.oracle.find_rows(setting.reference.make_inputs(0), setting.spec)
