"""Where an order is open among equal values, no values are equal."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import nn

from harness.referee.inputs.draws import Drawn, make_inputs
from harness.referee.inputs.ties import has_open_order, leaves_order_open, without_ties
from harness.workspace.open_order import names_choice
from tests.problem_text import problem_text
from tests.referee.in_process import checked, setting_of

TINY = torch.finfo(torch.float32).tiny


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(
    "values",
    [
        [1.0, 1.0, 1.0],
        [-1.0, 2.0, -1.0, 2.0, -1.0],
        [0.5, float("inf"), 0.5, float("-inf"), 0.5, float("inf")],
        [TINY, TINY, -TINY, -TINY],
        [1.0, 1.0, torch.nextafter(torch.tensor(1.0), torch.tensor(2.0)).item()],
    ],
)
def test_equal_values_come_apart_by_little_and_keep_their_order(dtype: torch.dtype, values: list[float]) -> None:
    before = torch.tensor(values, dtype=dtype)
    (after,) = without_ties([before])
    finite = after[after.isfinite()]
    assert len(finite.unique()) == len(finite)
    assert torch.allclose(after, before, rtol=1e-6, atol=0)
    ranks = before[after.argsort()]
    assert torch.equal(ranks, ranks.sort().values)
    assert torch.equal(after[~before.isfinite()], before[~before.isfinite()])


def test_what_has_no_ties_or_no_room_between_values_stays() -> None:
    zeros, whole, half = torch.tensor([0.0, 1.0, 0.0, -0.0]), torch.tensor([3, 3]), torch.ones(3, dtype=torch.float16)
    kept = without_ties([zeros, whole, half, 2.5, torch.empty(0)])
    assert kept[0] is zeros
    assert kept[1] is whole
    assert kept[2] is half
    assert kept[3] == 2.5


def test_a_layout_stays() -> None:
    transposed = torch.ones(3, 4).t()
    (after,) = without_ties([transposed])
    assert after.stride() == transposed.stride()
    assert len(after.unique()) == 12


TOPK = problem_text("torch.topk(x, 5, dim=1)", "torch.randint(0, 40, (16, 256)).float() + 1")


class OtherIndices(nn.Module):
    """As right as torch.topk, which returns others among equals."""

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        values, indices = x.flip(1).sort(dim=1, descending=True, stable=True)
        return values[:, :5].contiguous(), (x.shape[1] - 1 - indices[:, :5]).contiguous()


class WrongIndices(OtherIndices):
    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        values, indices = super().forward(x)
        return values, indices.roll(1, 1)


@pytest.mark.parametrize(("model", "is_right"), [(OtherIndices, True), (WrongIndices, False)])
def test_any_index_of_equal_values_is_right(tmp_path: Path, model: type[nn.Module], is_right: bool) -> None:
    assert (checked(setting_of(tmp_path, TOPK), model)[0].failed is None) is is_right


def test_the_first_index_of_a_maximum_is_asked_for(tmp_path: Path) -> None:
    """Torch documents it."""
    source = TOPK.replace("torch.topk(x, 5, dim=1)", "x.argmax(dim=1)")
    setting = setting_of(tmp_path, source)
    assert not has_open_order(setting)
    (x,) = make_inputs(setting, Drawn(3))
    assert len(x.unique()) == 40


class LastMaximum(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.shape[1] - 1 - x.flip(1).argmax(1)


def test_who_takes_the_last_of_equal_maxima_is_told_to_take_the_first(tmp_path: Path) -> None:
    source = TOPK.replace("torch.topk(x, 5, dim=1)", "torch.max(x, dim=1)[1]")
    failed = checked(setting_of(tmp_path, source), LastMaximum)[0].failed
    assert failed is not None
    assert failed.failure.next_step.startswith("where values are equal, take the first one's index")


@pytest.mark.parametrize(
    ("forward", "chooses"),
    [
        ("torch.topk(x, 5)[1]", True),
        ("x.max(1)[1]", True),
        ("torch.min(x, 1).indices", True),
        ("torch.softmax(x, 1)", False),
        ("# the max\nreturn x.long()", False),
    ],
)
def test_code_alone_says_whether_it_chooses_among_values(forward: str, chooses: bool) -> None:
    assert names_choice(problem_text(forward)) is chooses


@pytest.mark.parametrize(
    ("forward", "is_open"),
    [
        ("torch.mode(x, 1).indices", True),
        ("x.mode(1)[1]", True),
        ("getattr(torch, 'mode')(x, 1)[1]", True),
        ("from torch import mode as most_frequent\nreturn most_frequent(x, 1)[1]", True),
        ("best = torch.topk\nreturn best(x, 5)[1]", True),
        ("torch.ops.aten.topk.default(x, 5)[1]", True),
        ("getattr(x, 'argsort')(1)", True),
        ("nn.functional.max_pool1d(x, 3, return_indices=True)[1]", True),
        ("# the mode, the median, or a sort\nreturn x.argmax(1)", False),
        ('"""The mode of a row, without topk."""\nreturn x.argmax(1)', False),
        ("assert self.training in (True, False), 'no mode for a sort'\nreturn x.argmax(1)", False),
        ("mode = 'nearest'\nreturn nn.functional.interpolate(x[None], 9, mode=mode)[0].argmax(1)", False),
    ],
)
def test_code_alone_says_that_an_order_is_open(forward: str, is_open: bool) -> None:
    assert leaves_order_open(problem_text(forward), [torch.int64]) is is_open


def test_what_is_no_index_has_no_open_order() -> None:
    assert not leaves_order_open(TOPK, [torch.float32])


@pytest.mark.parametrize(
    ("forward", "is_open"),
    [
        ("values, chosen = x.topk(2)\nreturn x.gather(1, chosen) * values", True),
        ("chosen = torch.sort(x, 1)[1]\nreturn x.gather(1, chosen + 1)", True),
        ("best = torch.topk(x, 2)\nreturn x.gather(1, best.indices + 1)", True),
        ("return x.gather(1, x.argsort(1))", True),
        ("best = x.topk(2)\nreturn x.gather(1, best[1])", True),
        ("best = x.topk(2)\ngates, chosen = best\nreturn x.gather(1, chosen) * gates", True),
        ("gates, self.chosen = x.topk(2)\nreturn x.gather(1, self.chosen)", True),
        ("low, high = sorted((1, 2))\nreturn x[:, low:high]", False),
        ("values, counts = x.unique(return_counts=True)\nreturn values.sum() + counts", False),
        ("values, order = torch.sort(x, stable=True)\nreturn x.gather(1, order)", False),
        ("indices = x.argmax(1)\nreturn x.sort(1)[0] + indices[:, None]", False),
        ("values, _ = x.topk(2)\nreturn values", False),
        ("values, unused = x.topk(2)\nreturn values", False),
        ("return torch.sort(x, 1)[0] + x.sort(1).values", False),
        ("mean, chosen = x.mean(), x.argmax(1)\nreturn x.sort(1)[0] + x.gather(1, chosen)", False),
    ],
)
def test_what_is_looked_up_at_indices_of_an_open_order_is_as_open(forward: str, is_open: bool) -> None:
    assert leaves_order_open(problem_text(forward), [torch.float32]) is is_open


EXPERTS = problem_text(
    "gates, chosen = x.softmax(1).topk(2)\nreturn (y.gather(1, chosen) * gates).sum(1)",
    "torch.rand(64, 8), torch.rand(64, 8)",
    given="x, y",
)


class LastExperts(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        gates, chosen = x.softmax(1).flip(1).sort(dim=1, descending=True, stable=True)
        return (y.flip(1).gather(1, chosen[:, :2]) * gates[:, :2]).sum(1)


def test_any_of_equal_experts_may_be_asked(tmp_path: Path) -> None:
    assert checked(setting_of(tmp_path, EXPERTS), LastExperts)[0].failed is None
