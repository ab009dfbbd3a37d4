"""The structure of inputs: what is seen of it in several draws, and that every variant keeps it."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import get_args

import pytest
import torch

from harness.referee.inputs.draws import draw_variants, make_inputs
from harness.referee.inputs.structure import InputStructure, structures_of
from harness.referee.inputs.variants import Variant, ladders
from harness.workspace.problem import VariantName
from tests.problem_text import problem_text
from tests.referee.in_process import setting_of

Draw = Callable[[], torch.Tensor]


def symmetric() -> torch.Tensor:
    drawn = torch.rand(3, 40, 40)
    return (drawn + drawn.mT) / 2


def banded() -> torch.Tensor:
    return torch.randn(60, 60).triu(-2).tril(2)


def masked_symmetric() -> torch.Tensor:
    kept = torch.arange(40) % 3 == 0
    return symmetric() * kept * kept[:, None]


STRUCTURED: dict[str, tuple[Draw, InputStructure]] = {
    "upper triangular": (lambda: torch.randn(50, 50).triu(), InputStructure(has_zeros=True)),
    "lower triangular": (lambda: torch.rand(4, 50, 50).tril(-1), InputStructure(has_zeros=True)),
    "banded": (banded, InputStructure(has_zeros=True)),
    "padded at the end": (lambda: torch.nn.functional.pad(torch.rand(30, 30), (0, 5)), InputStructure(has_zeros=True)),
    "symmetric": (symmetric, InputStructure(is_symmetric=True)),
    "symmetric with zeros": (masked_symmetric, InputStructure(is_symmetric=True, has_zeros=True)),
    "classes": (lambda: torch.randint(0, 7, (400,)).float(), InputStructure(is_whole=True)),
    "signs": (lambda: torch.randint(0, 2, (400,)).float() * 2 - 1, InputStructure(is_whole=True)),
    "distinct indices": (lambda: torch.randperm(300).double(), InputStructure(is_whole=True)),
    "one-hot rows": (lambda: torch.eye(9)[torch.randint(0, 9, (50,))], InputStructure(is_whole=True)),
    "sorted": (lambda: torch.rand(5, 200).sort(1).values, InputStructure(rising=frozenset({1}))),
    "sorted downwards": (lambda: torch.randn(200, 5).sort(0, True).values, InputStructure(falling=frozenset({0}))),
    "sorted from zero": (
        lambda: torch.rand(300).sub_(0.01).relu_().sort().values,
        InputStructure(has_zeros=True, rising=frozenset({0})),
    ),
    "rows that sum to 1": (lambda: torch.randn(40, 30).softmax(1), InputStructure(shares=frozenset({1}))),
    "columns that sum to 1": (lambda: torch.rand(40, 30, 5).softmax(0), InputStructure(shares=frozenset({0}))),
    "sparse rows that sum to 1": (
        lambda: torch.randn(40, 40).masked_fill(torch.ones(40, 40).triu(1) > 0, -torch.inf).softmax(1),
        InputStructure(has_zeros=True, shares=frozenset({1})),
    ),
}


def seen_of(draw: Draw) -> InputStructure:
    torch.manual_seed(3)
    return structures_of([draw()] for _ in range(3))[0]


@pytest.mark.parametrize("name", STRUCTURED)
def test_structure_is_seen(name: str) -> None:
    draw, structure = STRUCTURED[name]
    assert seen_of(draw) == structure


@pytest.mark.parametrize(
    "draw",
    [
        lambda: torch.rand(100, 100),
        lambda: torch.randn(2, 3, 8, 8),
        lambda: torch.rand(64, 64, dtype=torch.bfloat16),
        lambda: torch.ones(30, 30),
        lambda: torch.zeros(30),
        lambda: torch.rand(1),
        lambda: torch.rand(2),
        lambda: torch.rand(3, 1),
        lambda: torch.rand(30, 1).expand(30, 8),
        lambda: torch.empty(0, 5),
        lambda: torch.randint(0, 9, (4, 4)),
    ],
)
def test_what_is_drawn_freely_has_none(draw: Draw) -> None:
    assert seen_of(draw).is_left_alone is False
    assert not seen_of(draw) or seen_of(draw) == InputStructure(has_zeros=True)  # bfloat16 has few numbers


def test_what_holds_by_chance_in_one_draw_is_none() -> None:
    draws = iter([torch.tensor([[1.0, 2.0], [2.0, 1.0]]), torch.rand(2, 2), torch.rand(2, 2)])
    assert structures_of([draw] for draw in draws) == (InputStructure(),)


def test_no_more_is_drawn_where_nothing_is_seen() -> None:
    draws = iter([[torch.rand(9, 9)], [torch.rand(9, 9)]])
    structures_of(draws)
    assert len(list(draws)) == 1


def every_variant() -> list[Variant]:
    rng = random.Random(1)
    every = [ladder for name in get_args(VariantName) for ladder in ladders(name, rng)]
    return [one for ladder in every for one in (*ladder.moderate, *ladder.far) if one.name not in ("infinite", "nan")]


@pytest.mark.parametrize("variant", every_variant(), ids=lambda variant: variant.words)
@pytest.mark.parametrize("name", STRUCTURED)
def test_every_variant_keeps_what_was_seen(name: str, variant: Variant) -> None:
    draw, structure = STRUCTURED[name]
    torch.manual_seed(5)
    given = draw()
    (changed,) = variant.keeping((structure,)).apply([given.clone()], 9)
    if structure.is_whole:
        assert torch.equal(changed, given)
        return
    assert changed.shape == given.shape
    if structure.has_zeros and not structure.rising:
        assert bool((changed[given == 0] == 0).all())
    if structure.is_symmetric:
        assert torch.equal(changed, changed.mT)
    for dimension in structure.rising:
        assert torch.equal(changed, changed.sort(dimension).values)
    for dimension in structure.falling:
        assert torch.equal(changed, changed.sort(dimension, descending=True).values)
    for dimension in structure.shares:
        assert bool((changed >= 0).all())
        assert torch.allclose(changed.sum(dimension), torch.ones(()), atol=1e-5)


def test_each_input_keeps_its_own(tmp_path: Path) -> None:
    inputs = "torch.randn(20, 20).triu(), torch.rand(20, 20), torch.randint(0, 3, (20,)).float()"
    setting = setting_of(tmp_path, problem_text("(a @ b) * labels", inputs, given="a, b, labels"))
    fair = draw_variants(setting, iter(range(100)), random.Random(3)).drawn
    assert {one.variant.name for one in fair if one.variant} >= {"shifted", "ties", "negative", "signed", "few_terms"}
    for drawn in fair:
        upper, free, labels = make_inputs(setting, drawn)
        assert bool((upper.tril(-1) == 0).all())
        assert set(labels.tolist()) <= {0.0, 1.0, 2.0}
        assert not torch.equal(free, setting.reference.make_inputs(drawn.seed)[1])


def test_what_one_structure_would_undo_of_another_is_left_alone() -> None:
    both = InputStructure(is_symmetric=True, shares=frozenset({1}))
    given = torch.full((4, 4), 0.25) + torch.eye(4) * 0.1
    (kept,) = every_variant()[0].keeping((both,)).apply([given.clone()], 9)
    assert torch.equal(kept, given)
