"""`harness new` from the shell."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.shell import Shell

pytestmark = pytest.mark.usefixtures("workspace")

SCHEMAS = [
    f"made  .harness/schemas/{name}.schema.json" for name in ("problem", "solution", "config", "gate", "harness")
]


def test_a_problem_and_its_solution_are_made_and_the_next_step_is_named(harness: Shell) -> None:
    outcome = harness("new", "problem", "mine")
    assert outcome.code == 0
    assert sorted(outcome.out.splitlines()[:2]) == [
        "made  problems/mine/problem.py",
        "made  problems/mine/problem.yaml",
    ]
    assert outcome.out.splitlines()[2:-1] == SCHEMAS
    assert "harness new solution mine first" in outcome.out
    outcome = harness("new", "solution", "mine", "first")
    *made, next_step = outcome.out.splitlines()
    assert made == ["made  solutions/mine/first/solution.py", "made  solutions/mine/first/solution.yaml"]
    assert "harness run mine first" in next_step


def test_a_solution_can_be_copied(harness: Shell, workspace: Path) -> None:
    outcome = harness("new", "solution", "maxpool2d", "faster", "--from", "plain")
    assert outcome.code == 0
    assert (workspace / "solutions" / "maxpool2d" / "faster" / "solution.py").read_text() == "class ModelNew: ..."
