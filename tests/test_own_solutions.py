"""This repository's own solutions pass: complete on the GPU, and reduced on the simulator where they need none."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from harness.model.evaluation import Evaluation
from harness.model.verdict import Verdict
from harness.workspace.workspace import Workspace
from tests.evaluations import QUICK, evaluate_all
from tests.machine import ROOT

PROBLEMS = Workspace(ROOT).problem_names()
ON_SIM = [pytest.param(name, marks=pytest.mark.heavy) for name in PROBLEMS]
"""CI judges maxpool2d as its main job."""


@pytest.mark.sim
@pytest.mark.parametrize("problem", ON_SIM)
def test_solutions_pass_on_the_simulator(problem: str, tmp_path: Path) -> None:
    workspace = Workspace(ROOT)
    for name, evaluation in evaluate_all(ROOT, problem, tmp_path, "sim", config=QUICK).items():
        (solution,) = workspace.solutions(problem, [name])
        if solution.about.needs_gpu:
            assert evaluation.verdict is evaluation.solution.expected_verdict is Verdict.UNSUPPORTED
            continue
        if name == "triton" and importlib.util.find_spec("triton") is None:
            assert evaluation.verdict is evaluation.solution.expected_verdict is Verdict.UNSUPPORTED
            continue
        assert evaluation.verdict.passed, evaluation.failure
        cases = set(workspace.problem(problem).cases)
        assert {check.case for check in evaluation.checks} == cases - set(_not_compared(evaluation))
        assert evaluation.timing is None


def _not_compared(evaluation: Evaluation) -> list[str]:
    """The cases too large for the simulator, where several launches build on each other."""
    return [remark.partition(":")[0] for remark in evaluation.remarks if "values not compared" in remark]


@pytest.mark.parametrize("problem", PROBLEMS)
def test_somebody_without_a_gpu_has_an_example(problem: str) -> None:
    assert not all(solution.about.needs_gpu for solution in Workspace(ROOT).solutions(problem))


@pytest.mark.gpu
@pytest.mark.parametrize("problem", PROBLEMS)
def test_solutions_pass_on_the_gpu(problem: str, tmp_path: Path) -> None:
    for name, evaluation in evaluate_all(ROOT, problem, tmp_path, "cuda", config=QUICK).items():
        (solution,) = Workspace(ROOT).solutions(problem, [name])
        if not solution.about.runs_on(evaluation.environment.compute_capability):
            assert evaluation.verdict is Verdict.UNSUPPORTED
            continue
        assert evaluation.verdict.passed, evaluation.failure
        assert evaluation.timing is not None
        assert evaluation.timing.speedup is not None
        assert any(check.scope == "timed_turn" for check in evaluation.checks)
        assert all(build.kernels for build in evaluation.builds)
