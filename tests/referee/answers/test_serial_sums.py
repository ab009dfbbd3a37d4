"""Sums taken one term after the other in a reference's own code, and what they excuse."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import nn

from harness.referee import excuses
from harness.referee.answers import serial_sums
from harness.referee.answers.serial_sums import serially
from harness.referee.judgement import judge_values
from tests.referee.inputs.test_variants import made


def test_a_serial_sum_takes_one_term_after_the_other_in_float32() -> None:
    terms = torch.tensor([2.0**24, 1, 1, 1, 1, 1, 1, 1])
    with serially() as mode:
        found = [terms.sum(), terms @ torch.ones(8), terms.mean() * 8, terms.cumsum(0)[-1]]
    assert [float(one) for one in found] == [2.0**24] * 4
    assert mode.count == 4


def test_a_few_sums_are_taken_in_pieces_on_the_host(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serial_sums, "_TERMS_OF_A_PIECE", 6)
    terms = torch.tensor([[2.0**24, 1, 1, 1, 1, 1, 1, 1], [1.0, 2, 3, 4, 5, 6, 7, 8]])
    before = terms.clone()
    with serially():
        assert terms.sum(1).tolist() == (terms @ torch.ones(8)).tolist() == [2.0**24, 36]
        assert terms.cumsum(1)[:, -1].tolist() == [2.0**24, 36]
        assert torch.ones(3, 0).cumsum(1).shape == (3, 0)
        assert torch.isnan(torch.tensor([math.inf, -math.inf]).sum())
    assert torch.equal(terms, before)


def test_a_long_sum_is_taken_in_two_levels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serial_sums, "LONG", 4)
    monkeypatch.setattr(serial_sums, "FEW", 0)
    terms = torch.tensor([2.0**24, 1, 1, 1, 1, 1, 1, 1])
    with serially():
        assert float(terms.sum()) == 2.0**24 + 6
        assert float(terms @ torch.ones(8)) == 2.0**24 + 6


MODULES: dict[str, tuple[Callable[[], nn.Module], tuple[int, ...]]] = {
    "linear": (lambda: nn.Linear(7, 5), (3, 4, 7)),
    "conv1d": (lambda: nn.Conv1d(4, 6, 3, stride=2, padding=2, dilation=2, groups=2), (2, 4, 11)),
    "conv2d": (lambda: nn.Conv2d(3, 4, (3, 5), stride=(2, 1), padding=(1, 2), bias=False), (2, 3, 9, 8)),
    "conv3d": (lambda: nn.Conv3d(3, 4, 2), (2, 3, 4, 5, 6)),
    "transposed": (lambda: nn.ConvTranspose2d(4, 6, 3, (2, 3), 1, (1, 2), groups=2, dilation=(2, 3)), (2, 4, 5, 6)),
    "instance_norm": (lambda: nn.InstanceNorm2d(4, affine=True), (2, 4, 5, 6)),
    "group_norm": (lambda: nn.GroupNorm(2, 4), (2, 4, 5, 6)),
    "layer_norm": (lambda: nn.LayerNorm((5, 6)), (2, 4, 5, 6)),
    "attention": (lambda: nn.TransformerEncoderLayer(8, 2, 16), (5, 2, 8)),
}


@pytest.mark.parametrize("name", MODULES)
def test_a_module_with_serial_sums_gives_what_it_gives_without(name: str) -> None:
    make, shape = MODULES[name]
    torch.manual_seed(1)
    module, value = make().eval(), torch.rand(shape)
    with torch.no_grad():
        want = copy.deepcopy(module).double()(value.double())
        with serially() as mode:
            found = module(value)
    assert mode.count
    torch.testing.assert_close(found.double(), want, rtol=1e-5, atol=1e-5)


FUNCTIONS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "some_dimensions": lambda x: x.sum((0, 2)),
    "kept_dimension": lambda x: x.mean(-1, keepdim=True),
    "norm": lambda x: torch.norm(x, p=2, dim=1, keepdim=True),
    "frobenius": lambda x: torch.norm(x, p="fro"),
    "variance": lambda x: x.var(1, unbiased=False),
    "deviation": lambda x: x.std(2),
    "logsumexp": lambda x: torch.logsumexp(x, (1, 2)),
    "softmax": lambda x: torch.softmax(x, 1),
    "running": lambda x: x.flip(1).cumsum(1),
    "einsum": lambda x: torch.einsum("abc,dc->abd", x, x[0]),
    "loss": lambda x: torch.nn.functional.mse_loss(x, x.flip(0)),
    "loss_of_classes": lambda x: torch.nn.functional.nll_loss(x[0], torch.arange(5)),
    "loss_of_pixels": lambda x: torch.nn.functional.nll_loss(
        x[:, :, None], torch.arange(5)[:2, None, None].expand(2, 1, 7)
    ),
    "binary_loss": lambda x: torch.nn.functional.binary_cross_entropy(x, x.flip(0)),
    "binary_loss_of_logits": lambda x: torch.nn.functional.binary_cross_entropy_with_logits(x, x.flip(0)),
    "margins": lambda x: torch.nn.functional.soft_margin_loss(x, x.flip(0)),
    "loss_of_one": lambda x: torch.nn.functional.cross_entropy(x[0, 0], torch.tensor(3)),
    "loss_of_bytes": lambda x: torch.nn.functional.cross_entropy(x[0], torch.arange(5, dtype=torch.uint8)),
    "distances": lambda x: torch.cdist(x[0].repeat(8, 1), x[1].repeat(8, 1)),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_with_serial_sums_gives_what_it_gives_without(name: str) -> None:
    value = torch.rand(2, 5, 7, generator=torch.Generator().manual_seed(1))
    with serially() as mode:
        found = FUNCTIONS[name](value)
    assert mode.count
    torch.testing.assert_close(found.double(), FUNCTIONS[name](value.double()), rtol=1e-5, atol=1e-6)


def test_an_operation_of_too_many_additions_is_left_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(serial_sums._MOST_ADDITIONS, "cpu", 7)
    with serially() as mode:
        assert float(torch.ones(8).sum()) == 8
        assert mode.count == 0
        assert float(torch.ones(7).sum()) == 7
    assert mode.count == 1


def test_a_serial_sum_of_equal_terms_is_not_accused_and_a_softmax_in_half_is(tmp_path: Path) -> None:
    """Nearly all terms of the sum are equal, and all are rounded in the same direction."""
    setting = made(tmp_path, "torch.softmax(x, 1)", "torch.rand(2, 2**14)")
    inputs = torch.zeros(2, 2**14)
    inputs[:, :4] = 2.9
    with serially():
        plain = torch.softmax(inputs, 1)
    (compared,) = judge_values([plain], [inputs], setting)
    assert compared.passed
    assert compared.tolerance.rtol > 1.1e-4  # without it, it would have failed
    (compared,) = judge_values([torch.softmax(inputs.half(), 1).float()], [inputs], setting)
    assert not compared.passed


def test_a_loss_that_is_added_up_row_by_row_is_not_accused(tmp_path: Path) -> None:
    """As atomicAdd does: of rows nearly alike all additions are rounded in the same direction."""
    count = 2**15
    forward = "torch.nn.functional.cross_entropy(x, torch.zeros(len(x), dtype=torch.int64))"
    setting = made(tmp_path, forward, f"torch.rand({count}, 8)")
    inputs = torch.zeros(count, 8)
    inputs[::64, 0] = 2.9
    each = -torch.log_softmax(inputs, 1)[:, 0] / count
    with serially():
        (compared,) = judge_values([each.sum()], [inputs], setting)
    assert compared.passed
    assert compared.tolerance.rtol > 1.1e-4  # without it, it would have failed
    (compared,) = judge_values([each[::2].sum() * 2.01], [inputs], setting)
    assert not compared.passed


def test_a_million_terms_may_be_added_up_by_one_thread(tmp_path: Path) -> None:
    """As a kernel of KernelBench's level 1 no. 4 does, which errs by 2e-4; equal terms show it with fewer of them."""
    setting = made(tmp_path, "x.sum(1)", "torch.rand(2, 2**17)")
    inputs = torch.full((2, 2**17), 0.7)
    with serially():
        plain = inputs.sum(1)
    (compared,) = judge_values([plain], [inputs], setting)
    assert compared.passed
    assert compared.tolerance.rtol > 1.1e-4  # without it, it would have failed


def test_the_plainest_arithmetic_of_a_reference_that_works_in_place_leaves_the_inputs(tmp_path: Path) -> None:
    setting = made(tmp_path, "x.mul_(2).sum()", "torch.rand(2**17)")
    inputs = torch.full((2**17,), 0.7)
    with serially():
        plain = (inputs * 2).sum()
    (compared,) = judge_values([plain], [inputs.clone()], setting)
    assert compared.passed
    assert compared.tolerance.rtol > 1.1e-4  # without it, it would have failed


def test_what_was_excused_once_needs_no_evidence_in_other_draws(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    setting = made(tmp_path, "x.sum(1)", "torch.rand(2, 2**17)")
    for value in (0.7, 0.35):
        inputs = torch.full((2, 2**17), value)
        with serially():
            plain = inputs.sum(1)
        (compared,) = judge_values([plain], [inputs], setting)
        assert compared.passed
        monkeypatch.setattr(excuses, "evidence_against", None)  # raises where it is called


def test_a_row_of_next_to_nothing_excuses_no_other(tmp_path: Path) -> None:
    """Beside its own scale the reference's error is large there, and a cheat could be off by so much elsewhere."""
    setting = made(tmp_path, "x.sum(1)", "torch.randn(20_000, 64)")
    inputs = torch.randn(20_000, 64, generator=torch.Generator().manual_seed(1))
    plain = inputs.double().sum(1)
    (tolerance,) = setting.tolerances
    place = int(plain.abs().argmin())
    plain[place] += tolerance.atol + tolerance.rtol * float(plain[place].abs()) + 1e-7
    (compared,) = judge_values([plain.float()], [inputs], setting)
    assert compared.passed
    off = inputs.flip(0).double().sum(1) + 1.5 * (
        tolerance.atol + tolerance.rtol * inputs.flip(0).double().sum(1).abs()
    )
    (compared,) = judge_values([off.float()], [inputs.flip(0)], setting)
    assert not compared.passed


def test_a_variance_in_one_pass_is_not_accused_and_one_of_half_the_terms_is(tmp_path: Path) -> None:
    """It loses digits where the mean is large against the spread."""
    setting = made(tmp_path, "torch.nn.functional.layer_norm(x, x.shape[1:])", "torch.rand(2, 2**14)")
    inputs = torch.rand(2, 2**14, generator=torch.Generator().manual_seed(1)) + 5
    with serially():
        one_pass = torch.stack([_normalised(row, row.sum(), row.square().sum()) for row in inputs])
    (compared,) = judge_values([one_pass], [inputs], setting)
    assert compared.passed
    assert compared.tolerance.rtol > 1.1e-4  # without it, it would have failed
    half = torch.stack([_normalised(row, 2 * row[::2].sum(), 2 * row[::2].square().sum()) for row in inputs])
    (compared,) = judge_values([half], [inputs], setting)
    assert not compared.passed


def _normalised(row: torch.Tensor, total: torch.Tensor, squares: torch.Tensor) -> torch.Tensor:
    mean = total / len(row)
    return (row - mean) / (squares / len(row) - mean.square() + 1e-5).sqrt()
