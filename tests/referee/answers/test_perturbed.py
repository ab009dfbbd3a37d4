"""References run with every rounded result a little off."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
import torch
from torch import nn

from harness.referee.answers.invalid_problem import InvalidProblem
from harness.referee.answers.kernel_kinds import NOISY, as_kernels_choose
from harness.referee.answers.perturbed import perturbed
from harness.referee.answers.tf32 import rounded_to_tf32
from tests.referee.in_process import checked
from tests.referee.inputs.test_variants import made


@pytest.mark.parametrize("function", [torch.relu, torch.round, torch.floor, torch.neg, torch.abs, torch.clone, torch.t])
def test_exact_operations_stay_exact(function: object) -> None:
    x = torch.randn(30, 40)
    with perturbed(1, 2.0):
        found = function(x)  # type: ignore[operator]
    assert torch.equal(found, function(x))  # type: ignore[operator]


def test_rounded_results_are_off_by_a_few_units() -> None:
    x = torch.rand(1000) + 1
    for function in (torch.exp, torch.sqrt, lambda x: x * x, lambda x: x.log_softmax(0), lambda x: x.softmax(0)):
        with perturbed(1, 2.0):
            found = function(x)
        off = ((found - function(x)) / function(x)).abs().max()
        assert 2.0**-24 < off < 2.0**-17


@pytest.mark.parametrize("context", [lambda: perturbed(1, 2.0), lambda: as_kernels_choose(NOISY, 0)])
def test_what_is_computed_in_place_is_as_far_off(context: Callable[[], AbstractContextManager[None]]) -> None:
    x = torch.rand(1000) + 1
    with context():
        apart = x * 1.1 + x
        in_place = x.clone()
        in_place *= 1.1
        in_place += x
    assert torch.equal(in_place, apart)
    assert not torch.equal(in_place, x * 1.1 + x)


def test_lists_may_be_changed_in_place() -> None:
    lists = [torch.rand(8), torch.rand(8)]
    with perturbed(1, 2.0):
        torch._foreach_mul_(lists, torch.tensor(2.5))


def test_infinities_and_masked_rows_stay() -> None:
    x = torch.tensor([[1.0, -torch.inf], [-torch.inf, -torch.inf]])
    with perturbed(1, 2.0):
        assert (x + 1).isinf().tolist() == x.isinf().tolist()
        assert torch.ops.aten._safe_softmax(x, 1).tolist() == [[pytest.approx(1, 1e-6), 0], [0, 0]]


@pytest.mark.parametrize(
    "forward",
    [
        "x[(x[:, 0] * 7).ceil().long()]",
        "x[(x[:, 0] * 7).double().ceil().long()]",
        "x[torch.zeros(len(x), dtype=torch.long).copy_(x[:, 0] * 7)]",
        "x[torch.searchsorted(torch.arange(7.0), x[:, 0].contiguous() * 7)]",
        "nn.functional.binary_cross_entropy(torch.sigmoid(x * 40), torch.ones_like(x))",
    ],
)
def test_what_could_abort_the_device_is_refused(tmp_path: Path, forward: str) -> None:
    setting = made(tmp_path, forward)
    with pytest.raises(InvalidProblem):
        setting.oracle.perturbed([torch.rand(8, 300)], 1, 2.0)


@pytest.mark.parametrize(
    "forward",
    [
        "(torch.round(x * 15) / 15) @ self.weight",
        "torch.round(x * 15).to(torch.int8).float() / 15 @ self.weight",
        "(x == x.amax(1, keepdim=True)).float() @ self.weight",
        "(x * 1000 - (x * 1000).floor()) @ self.weight",
    ],
)
def test_an_answer_that_jumps_excuses_no_cheaper_precision(tmp_path: Path, forward: str) -> None:
    setting = made(tmp_path, forward, "torch.rand(64, 96)", init="self.weight = nn.Parameter(torch.randn(96, 64))")
    rounded = forward.replace("@ self.weight", "@ tf32(self.weight)")

    class Cheaper(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(torch.randn(96, 64))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            found: torch.Tensor = eval(rounded, {"x": x, "self": self, "torch": torch, "tf32": rounded_to_tf32})
            return found

    assert checked(setting, Cheaper)[0].failed is not None
