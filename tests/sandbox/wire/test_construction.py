"""Parameters of layers that are made while initialisers vary."""

from __future__ import annotations

import math

import torch
from torch import nn

from harness.sandbox.wire.construction import varied_initialisers


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
