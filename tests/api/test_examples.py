"""The examples of docs/api.md and docs/train.md run as they stand there."""

from __future__ import annotations

import re
from typing import Any

import pytest

import harness
from harness.workspace.scaffold import TEMPLATE
from tests.machine import ROOT

PAGES = ("api.md", "train.md")

RELU = (TEMPLATE / "solutions" / "relu" / "vectorized" / "solution.py").read_text(encoding="utf-8")


def blocks(page: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", (ROOT / "docs" / page).read_text(encoding="utf-8"), re.DOTALL)


def training_loop() -> str:
    (block,) = blocks("train.md")
    return block


@pytest.mark.parametrize("page", PAGES)
def test_every_example_is_python(page: str) -> None:
    assert blocks(page)
    for block in blocks(page):
        compile(block, f"docs/{page}", "exec")


@pytest.mark.sim
def test_the_training_loop_rewards_what_is_right() -> None:
    batches = [
        [RELU, "def broken(\n"],
        [RELU.replace("x < 0.0f ? 0.0f : x", "x"), RELU.replace("float4 v", "flaot4 v")],
    ]
    rewarded: list[list[float | None]] = []
    names: dict[str, Any] = {
        "STEPS": 2,
        "generate": lambda step: batches[step],
        "update": lambda sources, rewards: rewarded.append(rewards),
    }
    exec(compile(training_loop().replace('backend="auto"', 'backend="sim"'), "docs/train.md", "exec"), names)
    assert rewarded == [[1.0, -0.5], [-0.5, -1.0]]


@pytest.mark.gpu
def test_the_training_loop_rewards_speed_on_a_gpu() -> None:
    rewarded: list[list[float | None]] = []
    names: dict[str, Any] = {
        "STEPS": 1,
        "generate": lambda step: [RELU],
        "update": lambda sources, rewards: rewarded.append(rewards),
    }
    exec(compile(training_loop(), "docs/train.md", "exec"), names)
    ((reward,),) = rewarded
    assert reward is not None
    assert -0.0 <= reward <= 4.0


@pytest.mark.sim
def test_one_call_evaluates_one_source() -> None:
    problem = (TEMPLATE / "problems" / "relu" / "problem.py").read_text(encoding="utf-8").replace("4096", "64")
    config = harness.Config(correctness=harness.CorrectnessConfig(seeds=1))
    evaluation = harness.evaluate(problem, RELU, backend="sim", config=config, seed=11, name="mine")
    assert (evaluation.verdict, evaluation.solution.name, evaluation.seed) == (harness.Verdict.PASSED, "mine", 11)
    assert evaluation.solution.files == {"solution.py": RELU}
    assert {check.variant for check in evaluation.checks} >= {None, "shifted"}
