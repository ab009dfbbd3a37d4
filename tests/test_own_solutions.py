"""This repository's own solutions pass: complete on the GPU, and, those without PTX, reduced on the simulator."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.records.verdict import Verdict
from harness.workspace.workspace import Workspace
from tests.evaluations import QUICK, evaluate_all
from tests.machine import ROOT

PROBLEMS = Workspace(ROOT).problem_names()


@pytest.mark.sim
@pytest.mark.parametrize("problem", PROBLEMS)
def test_solutions_pass_on_the_simulator(problem: str, tmp_path: Path) -> None:
    workspace = Workspace(ROOT)
    for name, evaluation in evaluate_all(ROOT, problem, tmp_path, "sim", config=QUICK).items():
        (solution,) = workspace.solutions(problem, [name])
        if "asm volatile" in solution.source_path.read_text():
            assert evaluation.verdict == Verdict.UNSUPPORTED
            assert evaluation.failure is not None
            assert "inline PTX (asm)" in evaluation.failure.reason
            continue
        assert evaluation.verdict.passed, evaluation.failure
        assert {check.case for check in evaluation.checks} == set(workspace.problem(problem).cases)
        assert evaluation.timing is None


def test_a_solution_for_every_problem_runs_on_the_simulator() -> None:
    workspace = Workspace(ROOT)
    for problem in PROBLEMS:
        texts = [solution.source_path.read_text() for solution in workspace.solutions(problem)]
        assert any("asm" not in text for text in texts)


@pytest.mark.gpu
@pytest.mark.parametrize("problem", PROBLEMS)
def test_solutions_pass_on_the_gpu(problem: str, tmp_path: Path) -> None:
    for evaluation in evaluate_all(ROOT, problem, tmp_path, "cuda", config=QUICK).values():
        assert evaluation.verdict.passed, evaluation.failure
        assert evaluation.timing is not None
        assert evaluation.timing.speedup is not None
        assert any(check.scope == "timed_turn" for check in evaluation.checks)
        assert all(build.kernels for build in evaluation.builds)
