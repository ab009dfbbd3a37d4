"""Scaffolds: what is made, what is refused, and that it is right as it is."""

from __future__ import annotations

import ast
import os
from pathlib import Path

import pytest

from harness.errors import InvalidFile, UsageError
from harness.model.evaluation import Evaluation
from harness.model.verdict import Verdict
from harness.workspace.problem import load_problem
from harness.workspace.scaffold import new_problem, new_solution
from harness.workspace.workspace import Workspace
from tests.evaluations import evaluate_all
from tests.machine import ROOT

PAIR = '''"""A reference with parameters, two outputs and a helper."""
from __future__ import annotations

import torch.nn as nn

features = 6


def halved(x):
    return x / 2


class Model(nn.Module):
    def __init__(self, features: int) -> None:
        super(Model, self).__init__()
        self.linear = nn.Linear(features, 3)

    def forward(self, x):
        y = self.linear(x)
        return y.t(), halved(y) > 0


def get_inputs():
    import torch

    return [torch.randn(5, features)]


def get_init_inputs():
    return [features]
'''


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    (tmp_path / "problems").mkdir()
    return Workspace(tmp_path)


def names(files: list[Path], root: Path) -> list[str]:
    return sorted(str(path.relative_to(root)) for path in files)


def test_a_new_problem_is_the_example(workspace: Workspace) -> None:
    made = new_problem(workspace, "mine")
    assert names(made, workspace.root) == ["problems/mine/problem.py", "problems/mine/problem.yaml"]
    problem = workspace.problem("mine")
    assert (problem.title, list(problem.cases), problem.tolerance) == ("mine", ["full", "small"], None)


def test_a_kernelbench_file_becomes_a_problem(workspace: Workspace, tmp_path: Path) -> None:
    (tmp_path / "19_Pair.py").write_text(PAIR)
    new_problem(workspace, "pair", tmp_path / "19_Pair.py")
    problem = workspace.problem("pair")
    assert (problem.source, problem.title) == (PAIR, "pair")
    text = (problem.folder / "problem.yaml").read_text()
    assert text.splitlines()[0] == "# yaml-language-server: $schema=../../.harness/schemas/problem.schema.json"
    assert "constants: {features: 8}" in text


def test_a_problem_may_come_through_a_pipe(workspace: Workspace) -> None:
    """Such as `--from <(curl …)` and `--from /dev/stdin`."""
    given, taken = os.pipe()
    with os.fdopen(taken, "w") as file:
        file.write(PAIR)
    new_problem(workspace, "pair", Path(f"/dev/fd/{given}"))
    os.close(given)
    assert workspace.problem("pair").source == PAIR


def test_a_file_that_is_no_problem_leaves_nothing_behind(workspace: Workspace, tmp_path: Path) -> None:
    (tmp_path / "other.py").write_text("x = 1\n")
    with pytest.raises(InvalidFile, match="'Model'"):
        new_problem(workspace, "other", tmp_path / "other.py")
    with pytest.raises(UsageError, match=r"can't read .*nosuch\.py"):
        new_problem(workspace, "other", tmp_path / "nosuch.py")
    assert workspace.problem_names() == []


@pytest.mark.parametrize("name", ["", ".hidden", "../up", "a/b", "a b", "-p"])
def test_a_name_that_cannot_be_a_folders_is_refused(workspace: Workspace, name: str) -> None:
    with pytest.raises(UsageError, match="letters, digits"):
        new_problem(workspace, name)


def test_what_is_there_is_never_written_over(workspace: Workspace) -> None:
    new_problem(workspace, "mine")
    with pytest.raises(UsageError, match=r"problems/mine .*already"):
        new_problem(workspace, "mine")
    new_solution(workspace, workspace.problem("mine"), "first")
    with pytest.raises(UsageError, match=r"solutions/mine/first .*already"):
        new_solution(workspace, workspace.problem("mine"), "first")


def test_a_new_solution_holds_the_reference_without_its_inputs(workspace: Workspace, tmp_path: Path) -> None:
    (tmp_path / "pair.py").write_text(PAIR)
    new_problem(workspace, "pair", tmp_path / "pair.py")
    new_solution(workspace, workspace.problem("pair"), "first-try")
    source = (tmp_path / "solutions" / "pair" / "first-try" / "solution.py").read_text()
    defined = [node.name for node in ast.parse(source).body if isinstance(node, (ast.ClassDef, ast.FunctionDef))]
    assert defined == ["halved", "Model", "ModelNew"]
    assert 'name="pair_first_try"' in source
    compile(source, "solution.py", "exec")  # a __future__ import must stay at the top


def test_a_copy_of_another_solution_is_that_solution(workspace: Workspace) -> None:
    new_problem(workspace, "mine")
    problem = workspace.problem("mine")
    new_solution(workspace, problem, "first")
    cache = workspace.root / "solutions" / "mine" / "first" / "__pycache__"
    cache.mkdir()
    (cache / "solution.pyc").write_bytes(b"")
    made = new_solution(workspace, problem, "second", "first")
    assert names(made, workspace.root) == ["solutions/mine/second/solution.py", "solutions/mine/second/solution.yaml"]
    first, second = workspace.solutions("mine")
    assert first.sha256 == second.sha256
    with pytest.raises(UsageError, match=r"'frist'.*'first'"):
        new_solution(workspace, problem, "third", "frist")


@pytest.mark.sim
def test_a_new_solution_is_right_and_its_work_is_torchs(workspace: Workspace, tmp_path: Path) -> None:
    new_problem(workspace, "mine")
    new_solution(workspace, workspace.problem("mine"), "first")
    found = evaluate_all(workspace.root, "mine", tmp_path / "results", "sim")
    assert_only_the_kernel_is_missing(found["first"])
    assert [build.name for build in found["first"].builds] == ["mine_first"]


@pytest.mark.sim
def test_a_new_solution_of_a_kernelbench_file_is_right(workspace: Workspace, tmp_path: Path) -> None:
    """Parameters, several outputs of several dtypes, one that isn't contiguous."""
    (tmp_path / "pair.py").write_text(PAIR)
    new_problem(workspace, "pair", tmp_path / "pair.py")
    new_solution(workspace, workspace.problem("pair"), "first")
    found = evaluate_all(workspace.root, "pair", tmp_path / "results", "sim")
    assert_only_the_kernel_is_missing(found["first"])
    assert found["first"].weights == "reference_state"


@pytest.mark.gpu
@pytest.mark.parametrize("problem", ["maxpool2d", "conv2d_asymmetric"])
def test_a_new_solution_is_right_on_the_gpu(problem: str, workspace: Workspace, tmp_path: Path) -> None:
    original = load_problem(ROOT / "problems" / problem)
    new_problem(workspace, problem, original.folder / "problem.py")
    (workspace.root / "problems" / problem / "problem.yaml").write_text((original.folder / "problem.yaml").read_text())
    new_solution(workspace, original, "first")
    found = evaluate_all(workspace.root, problem, tmp_path / "results", "cuda", cases=["small"])
    assert_only_the_kernel_is_missing(found["first"])


def assert_only_the_kernel_is_missing(evaluation: Evaluation) -> None:
    assert evaluation.verdict is Verdict.NO_CUSTOM_KERNEL, evaluation.failure
    assert evaluation.solution.expected_verdict is Verdict.PASSED  # once the work is in the kernel, the exit code is 0
    assert evaluation.checks
    assert all(check.passed for check in evaluation.checks)
