"""`harness new` from the shell."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.shell import Shell

SCHEMAS = [
    f"made  .harness/schemas/{name}.schema.json" for name in ("problem", "solution", "config", "gate", "harness")
]


def test_a_problem_and_its_solution_are_made_and_the_next_step_is_named(harness: Shell, workspace: Path) -> None:
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


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["problem", "relu"], "problems/relu is there already"),
        (["problem", "a/b"], "'a/b' can't name a problem"),
        (["problem", "mine", "--from", "nosuch.py"], "can't read nosuch.py: No such file or directory"),
        (["solution", "rleu", "first"], "no problem 'rleu'"),
        (["solution", "maxpool2d", "plain"], "solutions/maxpool2d/plain is there already"),
        (["solution", "maxpool2d", "mine", "--from", "plan"], "Did you mean 'plain'?"),
    ],
)
def test_what_cannot_be_made_ends_with_two(
    harness: Shell, workspace: Path, arguments: list[str], complaint: str
) -> None:
    outcome = harness("new", *arguments)
    assert (outcome.code, outcome.out) == (2, "")
    assert complaint in outcome.err
