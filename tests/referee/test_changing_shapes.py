"""Outputs and inputs whose shapes depend on what was drawn: the problem's mistake, whoever meets it first."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from harness.referee.answers.invalid_problem import InvalidProblem
from harness.referee.mutants.problem_check import check_problem
from tests.problem_text import problem_text
from tests.referee.in_process import checked, computing, setting_of
from tests.wording import tells

POSITIVE = problem_text("x[x > 0]", "torch.randn(64)")


@pytest.mark.parametrize("forward", [lambda x: x[x > 0], lambda x: x[:32]], ids=["as the reference", "always 32"])
def test_nobody_is_blamed_for_the_references_shape(tmp_path: Path, forward: Callable[..., torch.Tensor]) -> None:
    setting = setting_of(tmp_path, POSITIVE, "tolerance: exact")
    with pytest.raises(InvalidProblem, match="shape may not depend"):
        checked(setting, computing(forward))


@pytest.mark.parametrize("text", [POSITIVE, problem_text("x.sum()", "torch.randn(int(torch.randint(9, 99, ())))")])
def test_the_check_of_a_problem_names_both_shapes(tmp_path: Path, text: str) -> None:
    problem = setting_of(tmp_path, text, "tolerance: exact").problem
    (complaint,) = check_problem(problem, ["full"], 3, "cpu", lambda what: None).complaints
    assert tells(complaint, "then", "may not depend") or tells(complaint, "then", "must stay the same")
