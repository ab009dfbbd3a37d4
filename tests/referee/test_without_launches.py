"""Whether anything depends on a solution's own kernels, seen by a turn in which these do nothing."""

from __future__ import annotations

import random
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import nn

from harness.model.config import Config
from harness.referee.inputs.draws import make_inputs
from harness.referee.simulated_trial import _draws, is_right_without_launches
from tests.referee.in_process import InProcessDevice, InProcessWorker, computing, in_process_host
from tests.referee.inputs.test_variants import made


@pytest.fixture
def launches(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether launches do anything, in the order in which turns and constructions ask for it."""
    asked: list[bool] = []

    def limit_launches(self: InProcessDevice, count: int | None = None, seed: int = 0, seconds: Any = None) -> None:
        asked.append(count is None)

    monkeypatch.setattr(InProcessDevice, "limit_launches", limit_launches)
    return asked


def is_right(folder: Path, expression: str, model: type[nn.Module]) -> tuple[bool, InProcessWorker]:
    worker: Any = InProcessWorker(model)
    setting = made(folder, expression, "torch.rand(6, 50)")
    return is_right_without_launches(setting, in_process_host(), worker, Config()), worker


def test_a_module_constructs_with_its_kernels_and_is_called_without(tmp_path: Path, launches: list[bool]) -> None:
    right, worker = is_right(tmp_path, "x * 2", computing(lambda x: x + x))
    assert right
    assert launches == [True] + [False] * len(worker.turns)
    assert len(worker.turns) > 4


def test_one_turn_shows_that_a_kernel_does_something(tmp_path: Path, launches: list[bool]) -> None:
    right, worker = is_right(tmp_path, "x * 2", computing(lambda x: x + x if launches[-1] else torch.zeros_like(x)))
    assert (right, len(worker.turns)) == (False, 1)


def test_a_kernel_that_changes_nothing_of_ordinary_inputs_matters_for_others(
    tmp_path: Path, launches: list[bool]
) -> None:
    assert not is_right(tmp_path, "x.relu()", computing(lambda x: x.clamp(min=0) if launches[-1] else x.clone()))[0]


def test_code_that_fails_without_its_kernels_needs_them(tmp_path: Path, launches: list[bool]) -> None:
    class Waits(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            if not launches[-1]:
                raise RuntimeError("no kernel has answered")
            return x + x

    assert not is_right(tmp_path, "x * 2", Waits)[0]


def test_without_launches_a_seed_means_the_same_inputs_for_every_solution(tmp_path: Path) -> None:
    """What the reference gives for them is kept by the seed."""
    setting = made(tmp_path, "x.relu()")
    first, second = (
        [make_inputs(setting, one)[0] for one in _draws(SimpleNamespace(setting=setting, rng=random.Random(number)))]  # type: ignore[arg-type]
        for number in (1, 2)
    )
    assert len(first) == len(second) > 5
    assert all(torch.equal(one, two) for one, two in zip(first, second, strict=True))
