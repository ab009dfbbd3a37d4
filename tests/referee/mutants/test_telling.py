"""Which problems tell wrong kernels from right ones, and with which parameters."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from harness.referee.answers.invalid_problem import InvalidProblem
from harness.referee.inputs.draws import make_inputs
from harness.referee.mutants import telling as telling_module
from harness.referee.mutants.telling import describe_drawn, describe_neutral, telling, untold
from harness.referee.setting import prepare_setting
from tests.problem_text import problem_text
from tests.referee.in_process import setting_of
from tests.referee.inputs.test_variants import made
from tests.wording import tells

NORM = problem_text("self.layer(x[:, :, None]).mean((1, 2))", init="self.layer = nn.GroupNorm(2, 300)")
LAYERS = "nn.Sequential(*(m for _ in range(24) for m in (nn.Linear(300, 300), nn.ReLU())))"
DEEP = problem_text("self.layer(x)", init=f"self.layer = {LAYERS}")


@pytest.mark.parametrize(
    ("forward", "mutant"),
    [
        ("(x - x.amax()).relu()", "zeros"),
        ("(x.abs() + 50).clamp(max=3)", "stale"),
        ("x * 1e-6 + torch.arange(300.0)", "stale"),
        ("nn.functional.group_norm(x[:, :, None], 1).mean((1, 2))", "zeros"),
    ],
    ids=["always zero", "always saturated", "hardly of the input", "rounding errors alone"],
)
def test_outputs_that_tell_nothing_make_the_problem_invalid(tmp_path: Path, forward: str, mutant: str) -> None:
    with pytest.raises(InvalidProblem, match=f"mutant {mutant}"):
        telling(made(tmp_path, forward))


def test_solutions_are_judged_by_the_very_variants_that_tell(tmp_path: Path) -> None:
    """Which variants are fair may hang on the draw, so that others might tell nothing."""
    setting = made(tmp_path, "torch.relu(-x)", "torch.rand(64, 300)")
    assert telling(setting) is setting
    drawn = setting.lessons.variants[setting.repeat].drawn
    assert any(setting.oracle.answer(make_inputs(setting, one))[0].any() for one in drawn if one.decides)


def test_an_empty_output_is_named_as_one(tmp_path: Path) -> None:
    with pytest.raises(InvalidProblem, match="empty"):
        telling(made(tmp_path, "x[:0] + 1"))


@pytest.mark.parametrize(
    "forward",
    [
        "x + 1",
        "x.sum(1)",
        "x.softmax(1)",
        "x > 0.5",
        "x.argmax(1)",
        "x.mean()",
        "(x - 5).relu()",
        "(100 * x).to(torch.uint32)",
        "(100 * x).to(torch.uint16)",
    ],
)
def test_outputs_that_depend_on_their_input_tell(tmp_path: Path, forward: str) -> None:
    setting = made(tmp_path, forward)
    assert telling(setting) is setting


@pytest.mark.parametrize(
    ("source", "mutant"), [(NORM, "zeros"), (DEEP, "stale")], ids=["a mean after a norm", "a deep net"]
)
def test_where_inputs_tell_nothing_parameters_are_varied(tmp_path: Path, source: str, mutant: str) -> None:
    setting = setting_of(tmp_path, source)
    varied = telling(setting)
    assert (setting.varied_for, varied.varied_for) == (None, mutant)
    assert untold(varied) is None


def test_where_a_copy_passes_by_new_parameters_these_are_varied(tmp_path: Path) -> None:
    """A new batch normalisation returns its input in eval()."""
    setting = made(tmp_path, "self.layer(x)", init="self.layer = nn.BatchNorm1d(300)")
    assert telling(setting).varied_for == "input_returned"


def test_a_copy_may_be_the_right_answer(tmp_path: Path) -> None:
    for init in ("self.layer = nn.Identity()", "self.layer = nn.Identity(); self.unused = nn.Linear(2, 2)"):
        setting = made(tmp_path, "self.layer(x).clone()", init=init)
        assert telling(setting) is setting


def test_where_a_drawn_bias_saturates_all_outputs_parameters_are_drawn_anew(tmp_path: Path) -> None:
    init = "self.bias = nn.Parameter(torch.randn(1))"
    problem = setting_of(tmp_path, problem_text("(0.1 * x.sigmoid() - self.bias).clamp(-1, 1)", init=init)).problem
    settings = [prepare_setting(problem, "full", seed, "cpu") for seed in range(12)]
    pairs = [(one, telling(one)) for one in settings]
    assert all(-1 < told.model.bias.item() < 1.1 and told.varied_for is None for _, told in pairs)
    anew = [(one, told) for one, told in pairs if told is not one]
    assert 0 < len(anew) < len(settings)
    assert all(one.construction_seed != told.construction_seed for one, told in anew)
    assert all(tells(describe_drawn(told) or "", "parameters are drawn anew") for _, told in anew)


def test_no_parameters_are_drawn_anew_where_a_try_takes_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(telling_module, "_LONGEST_S", 0.0)
    tried: list[int] = []
    monkeypatch.setattr(telling_module, "_with_others", lambda _, lessons: tried.append(lessons.draw))
    with pytest.raises(InvalidProblem, match="mutant stale"):
        telling(made(tmp_path, "(self.layer(x).abs() + 50).clamp(max=3)", init="self.layer = nn.Linear(300, 40)"))
    assert tried == [0]


def test_parameters_that_change_nothing_leave_the_problem_invalid(tmp_path: Path) -> None:
    with pytest.raises(InvalidProblem, match="mutant stale"):
        telling(made(tmp_path, "(self.layer(x).abs() + 50).clamp(max=3)", init="self.layer = nn.Linear(300, 40)"))


def test_rows_that_are_alike_are_told_by_the_one_that_is_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("harness.referee.mutants.telling._EXAMINED", 4)
    setting = made(tmp_path, "x.mean(1) + 500", "torch.rand(64, 300)", "independent_batch: true\n")
    assert telling(setting) is setting


@pytest.mark.parametrize(
    ("init", "told"),
    [
        ("self.layer = nn.LayerNorm(300)", ("layer.weight", "layer.bias", "isn't noticed")),
        (
            "self.layer = nn.Sequential(nn.LayerNorm(300), nn.LayerNorm(300))",
            ("layer.0.weight", "layer.0.bias", "2 more"),
        ),
        ("self.layer = nn.Linear(300, 300)", None),
        ("self.layer = nn.PReLU()", None),
    ],
)
def test_parameters_that_are_ones_or_zeros_are_told(tmp_path: Path, init: str, told: tuple[str, ...] | None) -> None:
    remark = describe_neutral(made(tmp_path, "self.layer(x)", init=init))
    assert remark is None if told is None else tells(remark or "", *told)


def test_a_tolerance_that_the_problem_names_is_its_authors_own(tmp_path: Path) -> None:
    setting = setting_of(tmp_path, NORM, "tolerance: {rtol: 1.0e-3, atol: 1.0e-3}\n")
    assert telling(setting) is setting


def test_varied_parameters_are_the_same_at_every_preparation(tmp_path: Path) -> None:
    one, other = (telling(setting_of(tmp_path, NORM)).model.state_dict() for _ in range(2))
    assert all(torch.equal(one[name], other[name]) for name in one)
    assert float(one["layer.weight"].std()) > 0.2
