"""What a model's answer holds, and what it earns."""

from __future__ import annotations

import ast
import re
from dataclasses import replace
from pathlib import Path

import pytest

from harness.integrations import code_in, reward_of, task_text
from harness.model.verdict import Verdict
from tests.examples import failed, measured, passed
from tests.machine import ROOT

MODEL = "class ModelNew:\n    pass\n"
PAGE = (ROOT / "docs" / "integrations.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "answer",
    [
        MODEL,
        f"```python\n{MODEL}```",
        f"First\n```\nimport torch\n```\nthen\n```py\n{MODEL}```\nand\n```bash\nnvcc\n```\n",
        f"```python\nclass ModelNew: old\n```\n```python\n{MODEL}```",
    ],
)
def test_the_last_block_with_a_model_is_the_code(answer: str) -> None:
    assert code_in(answer) == MODEL


@pytest.mark.parametrize(("answer", "code"), [("", "\n"), ("no code", "no code\n"), ("```\nx = 1\n```", "x = 1\n")])
def test_an_answer_without_a_model_is_still_a_text_to_judge(answer: str, code: str) -> None:
    assert code_in(answer) == code


def test_a_reward_follows_the_lower_bound_of_the_speed_up() -> None:
    timed = passed(timing=measured())
    assert timed.timing is not None
    assert timed.timing.speedup is not None
    assert 2.0 < (reward_of(timed) or 0) < 2.1  # 1 + ln(3)
    assert reward_of(passed()) == 1.0


@pytest.mark.parametrize(
    ("verdict", "reward"),
    [
        (Verdict.COMPILE_ERROR, -1.0),
        (Verdict.CHEATING, -0.5),
        (Verdict.UNSUPPORTED, None),
        (Verdict.INVALID_PROBLEM, None),
        (Verdict.HARNESS_ERROR, None),
    ],
)
def test_only_the_solutions_own_faults_cost(verdict: Verdict, reward: float | None) -> None:
    assert reward_of(replace(failed(), verdict=verdict)) == reward


def test_a_task_is_the_prompt_of_its_problem() -> None:
    text = task_text("double", ROOT / "tests" / "faults")
    assert "class Model(" in text
    assert "ModelNew" in text


@pytest.mark.parametrize("adapter", ["inspect_ai", "openenv", "verifiers"])
def test_an_adapter_is_short(adapter: str) -> None:
    path: Path = ROOT / "harness" / "integrations" / f"{adapter}.py"
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 60


def test_names_in_the_pages_examples_exist() -> None:
    for block in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL):
        for node in ast.walk(ast.parse(block)):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("harness"):
                home = ROOT / str(node.module).replace(".", "/")
                file = home / "__init__.py" if home.is_dir() else home.with_suffix(".py")
                for name in node.names:
                    assert re.search(rf"\b{name.name}\b", file.read_text(encoding="utf-8"))
