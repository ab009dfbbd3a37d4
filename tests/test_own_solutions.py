"""This repository's own solutions pass: complete on the GPU, in reduced and sampled form on the simulator."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.workspace.workspace import Workspace
from tests.evaluations import QUICK, evaluate_all
from tests.machine import ROOT

PROBLEMS = Workspace(ROOT).problem_names()


@pytest.mark.sim
@pytest.mark.parametrize("problem", PROBLEMS)
def test_solutions_pass_on_the_simulator(problem: str, tmp_path: Path) -> None:
    for evaluation in evaluate_all(ROOT, problem, tmp_path, "sim", config=QUICK).values():
        assert evaluation.verdict.passed, evaluation.failure
        assert {check.case for check in evaluation.checks} == set(Workspace(ROOT).problem(problem).cases)
        assert evaluation.timing is None


@pytest.mark.gpu
@pytest.mark.parametrize("problem", PROBLEMS)
def test_solutions_pass_on_the_gpu(problem: str, tmp_path: Path) -> None:
    for evaluation in evaluate_all(ROOT, problem, tmp_path, "cuda", config=QUICK).values():
        assert evaluation.verdict.passed, evaluation.failure
        assert evaluation.timing is not None
        assert evaluation.timing.speedup is not None
        assert any(check.scope == "timed_turn" for check in evaluation.checks)
        assert all(build.kernels for build in evaluation.builds)
