"""Problems with `backward: true`: outputs and gradients of a call that runs forward and backward."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from harness.model.verdict import Verdict
from harness.referee.answers.invalid_problem import InvalidProblem
from harness.referee.answers.serial_sums import serially
from harness.referee.answers.tf32 import convolutions_in_tf32
from harness.referee.ceilings.work import operations_of_run
from harness.referee.mutants.problem_check import check_problem
from harness.referee.setting import Setting
from harness.sandbox.wire.messages import Optimization
from harness.worker.arm import _stepping
from harness.worker.optimization import optimize
from harness.workspace.problem import load_problem
from tests.files import laid
from tests.problem_text import problem_text
from tests.referee.in_process import checked, setting_of
from tests.referee.inputs.test_variants import made
from tests.referee.test_correctness import require_passed, verdict_of
from tests.wording import tells


def returning(forward: str) -> str:
    return problem_text(
        forward,
        "torch.randn(rows, width), torch.randint(0, 2, (rows, 1))",
        "self.project = nn.Linear(width, hidden)\nself.scale = nn.Parameter(torch.rand(hidden) + 0.5)",
        constants="rows, width, hidden = 16, 40, 24",
        given="x, mask",
        arguments="width, hidden",
    )


LAYER = returning("torch.tanh(self.project(x)) * self.scale * mask")


class Layer(torch.autograd.Function):
    """An own forward and backward; `fault` names what is wrong with the backward."""

    fault = ""

    @staticmethod
    def forward(context: Any, x: Any, weight: Any, bias: Any, scale: Any, mask: Any) -> Any:
        waves = torch.tanh(x @ weight.t() + bias)
        context.save_for_backward(x, weight, scale, mask, waves)
        return waves * scale * mask

    @staticmethod
    def backward(context: Any, by_output: Any) -> Any:
        x, weight, scale, mask, waves = context.saved_tensors
        by_scale = (by_output * mask * waves).sum(0)
        inner = by_output * mask * scale * (1 if Layer.fault == "a missing term" else 1 - waves.square())
        by_x = inner @ weight
        return {
            "": (by_x, inner.t() @ x, inner.sum(0), by_scale, None),
            "a missing term": (by_x, inner.t() @ x, inner.sum(0), by_scale, None),
            "the wrong sign": (by_x, inner.t() @ x, -inner.sum(0), by_scale, None),
            "a detached path": (None, inner.t() @ x, inner.sum(0), by_scale, None),
            "one row alone": (by_x, inner.t() @ x, inner[0], by_scale, None),
        }[Layer.fault]


class Honest(nn.Module):
    def __init__(self, width: int, hidden: int) -> None:
        super().__init__()
        self.project = nn.Linear(width, hidden)
        self.scale = nn.Parameter(torch.rand(hidden) + 0.5)

    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> Any:
        return Layer.apply(x, self.project.weight, self.project.bias, self.scale, mask)


def stepping(forward: Callable[[Any, torch.Tensor, torch.Tensor], Any]) -> type[Honest]:
    """The module with another forward()."""
    return type("Stepping", (Honest,), {"forward": forward})


class Renamed(nn.Module):
    def __init__(self, width: int, hidden: int) -> None:
        super().__init__()
        self.layer = nn.Linear(width, hidden)


@pytest.fixture
def layer(tmp_path: Path) -> Setting:
    return setting_of(tmp_path, LAYER, "backward: true\n")


def test_a_step_returns_the_outputs_and_a_gradient_for_each_floating_input_and_parameter(layer: Setting) -> None:
    assert layer.spec.shapes == ((16, 24), (16, 40), (24,), (24, 40), (24,))
    x, mask, cotangent = layer.reference.make_inputs(1)
    y, by_x, by_scale, by_weight, by_bias = layer.oracle.answer([x, mask, cotangent])
    model = layer.reference.construct(layer.construction_seed).model.double()
    given = x.double().requires_grad_()
    with torch.enable_grad():
        (model(given, mask) * cotangent).sum().backward()
    wanted = (given.grad, model.scale.grad, model.project.weight.grad, model.project.bias.grad)
    for found, want in zip((by_x, by_scale, by_weight, by_bias), wanted, strict=True):
        torch.testing.assert_close(found, want)
    assert not y.requires_grad


def test_inputs_and_cotangents_follow_from_the_seed(layer: Setting) -> None:
    first, again, other = (layer.reference.make_inputs(seed) for seed in (1, 1, 2))
    assert all(map(torch.equal, first, again))
    assert not torch.equal(first[2], other[2])
    assert first[2].shape == (16, 24)


def test_an_own_backward_passes_with_every_variant(layer: Setting) -> None:
    outcome, _ = checked(layer, Honest)
    require_passed(outcome)
    assert any(check.variant for check in outcome.checks)
    assert len(outcome.checks[0].outputs) == 5


@pytest.mark.parametrize(
    ("fault", "of"),
    [
        ("a missing term", "x"),
        ("the wrong sign", "project.bias"),
        ("a detached path", "x"),
        ("one row alone", "project.bias"),
    ],
)
def test_a_wrong_gradient_is_a_wrong_value(
    layer: Setting, fault: str, of: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Layer, "fault", fault)
    verdict, reason = verdict_of(layer, Honest)
    assert verdict is Verdict.WRONG_VALUES
    assert f"gradient of {of}:" in reason


@pytest.mark.parametrize(
    ("model", "verdict", "words"),
    [
        (stepping(lambda self, x, mask: [Honest.forward(self, x, mask)]), Verdict.RUNTIME_ERROR, ("tuple", "tensor")),
        (
            stepping(torch.no_grad()(Honest.forward)),
            Verdict.RUNTIME_ERROR,
            ("training step", "torch.autograd.Function"),
        ),
        (Renamed, Verdict.LOAD_ERROR, ("scale", "layer.weight")),
    ],
)
def test_a_solution_without_gradients_is_told_what_is_missing(
    layer: Setting, model: type[nn.Module], verdict: Verdict, words: tuple[str, ...]
) -> None:
    found, reason = verdict_of(layer, model)
    assert found is verdict
    assert tells(reason, *words)


def test_a_gradient_that_is_the_cotangent_itself_shares_no_memory_with_it(tmp_path: Path) -> None:
    setting = setting_of(tmp_path, returning("x[:, :hidden] + self.scale"), "backward: true\n")
    require_passed(checked(setting, stepping(lambda self, x, mask: x[:, :24] + self.scale))[0])
    assert not setting.spec.shared_inputs


class Cut(torch.autograd.Function):
    """Two rows of zeros above, whose gradient is the rest of the cotangent: a part of its memory."""

    @staticmethod
    def forward(context: Any, x: Any) -> Any:
        return nn.functional.pad(x, (0, 0, 2, 0))

    @staticmethod
    def backward(context: Any, by_output: Any) -> Any:
        return by_output[2:]


def test_a_gradient_that_is_a_part_of_the_cotangent_shares_no_memory_with_it(tmp_path: Path) -> None:
    setting = setting_of(tmp_path, returning("nn.functional.pad(x, (0, 0, 2, 0))"), "backward: true\n")
    require_passed(checked(setting, stepping(lambda self, x, mask: Cut.apply(x)))[0])


@pytest.mark.parametrize("dtype", ["float16", "float64"])
def test_a_converted_baseline_returns_what_the_reference_does(layer: Setting, dtype: str) -> None:
    step = layer.reference.step
    assert step is not None
    model = layer.reference.construct(1).model
    take = _stepping(optimize(model, Optimization(dtype=dtype)), model, step, lambda: None)
    found = take(*layer.reference.make_inputs(1))
    assert [one.dtype for one in found] == [torch.float32] * 5


def test_a_parameter_with_two_names_has_a_gradient_under_both(tmp_path: Path) -> None:
    tied = LAYER.replace("self.scale = nn.Parameter", "self.again = self.project\n        self.scale = nn.Parameter")
    setting = setting_of(tmp_path, tied, "backward: true\n")

    class Tied(Honest):
        def __init__(self, width: int, hidden: int) -> None:
            nn.Module.__init__(self)
            self.again = self.project = nn.Linear(width, hidden)
            self.scale = nn.Parameter(torch.rand(hidden) + 0.5)

    require_passed(checked(setting, Tied)[0])


def stepped(folder: Path, layer: str, given: str) -> Setting:
    """A training step of one layer."""
    return made(folder, "self.layer(x)", given, "backward: true\n", init=f"self.layer = {layer}")


@pytest.mark.parametrize(
    ("layer", "given"),
    [
        ("nn.LayerNorm(24)", "torch.rand(50, 24)"),
        ("nn.GroupNorm(2, 4)", "torch.rand(5, 4, 9)"),
        ("nn.Softmax(1)", "torch.rand(5, 40)"),
        ("nn.LogSoftmax(1)", "torch.rand(5, 40)"),
    ],
)
def test_sums_of_a_gradient_are_taken_serially(tmp_path: Path, layer: str, given: str) -> None:
    setting = stepped(tmp_path, layer, given)
    inputs = setting.reference.make_inputs(1)
    with serially() as forward:
        setting.model.model(*inputs[:1])
    with serially() as both:
        found = setting.model(*inputs)
    assert both.count > forward.count
    for one, want in zip(found, setting.oracle.answer(inputs), strict=True):
        torch.testing.assert_close(one.double(), want, rtol=1e-4, atol=1e-5)


def test_gradients_of_a_convolution_are_taken_in_tf32(tmp_path: Path) -> None:
    setting = stepped(tmp_path, "nn.Conv2d(3, 4, 3)", "torch.rand(2, 3, 9, 9)")
    inputs = setting.reference.make_inputs(1)
    exact = setting.model(*inputs)
    with convolutions_in_tf32():
        rounded = setting.model(*inputs)
    errors = [float((one - two).abs().max() / two.abs().max()) for one, two in zip(rounded, exact, strict=True)]
    assert all(1e-5 < error < 1e-2 for error in errors[:3])


def test_operations_of_both_directions_count(layer: Setting, tmp_path: Path) -> None:
    forward = setting_of(tmp_path / "forward", LAYER)
    both, one = (operations_of_run(one.model, one.reference.make_inputs(1)).total for one in (layer, forward))
    assert both == 3 * one


def test_a_problem_without_gradients_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidProblem) as raised:
        setting_of(tmp_path, returning("mask * 2"), "backward: true\n")
    assert tells(str(raised.value), "backward", "gradient")


def test_mutants_are_told_from_the_step_and_a_gradient_without_weights_is_none(tmp_path: Path) -> None:
    scaled = returning("x * self.scale * mask").replace("40, 24", "24, 24")
    laid(tmp_path, {"problem.py": scaled, "problem.yaml": "backward: true\n"})
    check = check_problem(load_problem(tmp_path), ["full"], 1, "cpu", lambda what: None)
    let_pass = {one.name for one in check.mutants if one.advice}
    of_weight = next(one for one in check.mutants if (one.name, one.output) == ("other_weights", 2))
    assert of_weight.harmless
    assert not let_pass - {"last_row", "last_item"}  # which the mask may hide
    assert {(one.name, one.output) for one in check.mutants} >= {("sign", 1), ("sign", 2), ("input_2_ignored", 1)}
