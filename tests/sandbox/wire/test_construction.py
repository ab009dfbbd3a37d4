"""Parameters of layers that are made while initialisers vary, or a device draws them."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from torch import nn

from harness.sandbox.wire import construction
from harness.sandbox.wire.construction import large_draws_on, varied_initialisers


def norm(seed: int) -> nn.BatchNorm2d:
    with varied_initialisers(seed):
        return nn.BatchNorm2d(1000)


def test_constants_are_varied_around_their_value() -> None:
    made = norm(3)
    for drawn, value in ((made.weight.detach(), 1.0), (made.bias.detach(), 0.0)):
        assert value - 0.5 <= float(drawn.min()) < value - 0.4
        assert value + 0.4 < float(drawn.max()) <= value + 0.5


def test_running_statistics_stay() -> None:
    made = norm(3)
    assert made.running_mean is not None
    assert made.running_var is not None
    assert not made.running_mean.any()
    assert bool((made.running_var == 1).all())


def test_equal_seeds_give_equal_parameters() -> None:
    assert torch.equal(norm(3).weight, norm(3).weight)
    assert not torch.equal(norm(3).weight, norm(4).weight)


def test_weights_are_drawn_as_usual_and_larger_by_the_root_of_six() -> None:
    torch.manual_seed(5)
    usual = [nn.Linear(64, 8), nn.LayerNorm(8), nn.Conv2d(3, 4, 3)]
    torch.manual_seed(5)
    with varied_initialisers(7):
        varied = [nn.Linear(64, 8), nn.LayerNorm(8), nn.Conv2d(3, 4, 3)]
    for place in (0, 2):
        one, other = usual[place].state_dict(), varied[place].state_dict()
        assert torch.allclose(other["weight"], one["weight"] * math.sqrt(6), rtol=1e-5)
        assert torch.equal(other["bias"], one["bias"])


def test_a_slope_that_the_module_names_itself_stays() -> None:
    torch.manual_seed(5)
    with varied_initialisers(7):
        named = nn.init.kaiming_uniform_(torch.empty(4, 8), a=1)
    torch.manual_seed(5)
    assert torch.equal(named, nn.init.kaiming_uniform_(torch.empty(4, 8), a=1))


def test_afterwards_initialisers_are_torchs_own() -> None:
    norm(3)
    assert bool((nn.LayerNorm(4).weight == 1).all())


def test_large_parameters_are_drawn_by_the_device_and_small_ones_as_usual(monkeypatch: pytest.MonkeyPatch) -> None:
    made = record_draws(monkeypatch)
    torch.manual_seed(5)
    usual = nn.Linear(64, 8)
    torch.manual_seed(5)
    with large_draws_on("cpu"):
        drawn = nn.Linear(64, 8)
    assert made == [torch.Size([8, 64])]
    assert torch.equal(drawn.weight, usual.weight)  # here the device is the CPU as well
    assert torch.equal(drawn.bias, usual.bias)


def test_without_a_device_a_few_numbers_are_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(construction, "_LARGE", 512)
    monkeypatch.setattr(construction, "_FEW", 97)
    with large_draws_on(None):
        large = torch.empty(64, 8).t().uniform_(2, 3)
        small = torch.empty(8, 8).uniform_(2, 3)
    assert (len(large.unique()), len(small.unique())) == (97, 64)
    assert bool(((large >= 2) & (large <= 3)).all())
    assert int(torch.linalg.matrix_rank(large)) == 8


def test_who_brings_a_generator_draws_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    made = record_draws(monkeypatch)
    with large_draws_on("cpu"):
        torch.empty(8, 64).normal_(generator=torch.Generator())
    assert made == []


def test_afterwards_draws_are_torchs_own() -> None:
    before = torch.Tensor.normal_, torch.Tensor.uniform_
    with pytest.raises(KeyError), large_draws_on("cpu"):
        raise KeyError
    assert (torch.Tensor.normal_, torch.Tensor.uniform_) == before
    assert not {"normal_", "uniform_"} & vars(torch.Tensor).keys()


def test_whoever_has_replaced_a_draw_before_keeps_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def mine(tensor: torch.Tensor, *_: Any, **__: Any) -> torch.Tensor:
        return tensor.fill_(7)

    monkeypatch.setattr(torch.Tensor, "normal_", mine, raising=False)
    with large_draws_on("cpu"):
        assert float(torch.empty(2).normal_()[0]) == 7
    assert torch.Tensor.normal_ is mine


def record_draws(monkeypatch: pytest.MonkeyPatch) -> list[torch.Size]:
    """The shapes that the device draws from now on; from 512 elements on they are large."""
    made: list[torch.Size] = []
    empty_like = torch.empty_like

    def recorded(tensor: torch.Tensor, device: str) -> torch.Tensor:
        made.append(tensor.shape)
        return empty_like(tensor, device=device)

    monkeypatch.setattr(torch, "empty_like", recorded)
    monkeypatch.setattr(construction, "_LARGE", 512)
    return made


@pytest.mark.gpu
def test_equal_seeds_give_equal_large_parameters_on_a_gpu() -> None:
    def drawn() -> torch.Tensor:
        torch.manual_seed(5)
        with large_draws_on("cuda"):
            return nn.Linear(4096, 4097).weight.detach()

    weight = drawn()
    assert weight.is_cpu
    assert torch.equal(weight, drawn())
    assert math.isclose(float(weight.std()), 1 / math.sqrt(3 * 4096), rel_tol=0.01)
