"""A solution that says on which GPUs it runs, on another one."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.builder.build import BuildOutcome
from harness.model.config import Config
from harness.model.evaluation import Evaluation
from harness.model.verdict import Verdict
from harness.referee.evaluation import evaluate
from harness.referee.job import make_job
from harness.sandbox.outcome import SolutionFailed
from harness.workspace.selection import select_tasks
from harness.workspace.workspace import Workspace
from tests.examples import environment
from tests.wording import tells
from tests.workspace.test_problem import SOURCE


def evaluated(root: Path, compute_capability: str) -> Evaluation:
    """On a GPU of this compute capability, for which it doesn't compile."""
    (root / "problems" / "pool").mkdir(parents=True)
    (root / "problems" / "pool" / "problem.py").write_text(SOURCE)
    (root / "solutions" / "pool" / "hopper").mkdir(parents=True)
    (root / "solutions" / "pool" / "hopper" / "solution.py").write_text("class ModelNew: ...")
    (root / "solutions" / "pool" / "hopper" / "solution.yaml").write_text('compute_capability: "9.0"')
    (task,) = select_tasks(Workspace(root), ["pool"], [], [])
    built = BuildOutcome((), SolutionFailed(Verdict.COMPILE_ERROR, "wgmma needs sm_90a"), 1.0)
    job = make_job("run", task, Config(), 1)
    return evaluate(job, None, environment(gpu="a GPU", compute_capability=compute_capability), built)


@pytest.mark.parametrize("compute_capability", ["8.0", "10.0"])
def test_it_is_unsupported_as_expected(tmp_path: Path, compute_capability: str) -> None:
    found = evaluated(tmp_path, compute_capability)
    assert found.failure is not None
    assert (found.verdict, found.solution.expected_verdict) == (Verdict.UNSUPPORTED, Verdict.UNSUPPORTED)
    assert tells(found.failure.reason, "9.0", "solution.yaml", "a GPU", compute_capability)
    assert "such a GPU" in found.failure.next_step


def test_where_it_says_that_it_runs_it_is_judged(tmp_path: Path) -> None:
    found = evaluated(tmp_path, "9.0")
    assert (found.verdict, found.solution.expected_verdict) == (Verdict.COMPILE_ERROR, Verdict.PASSED)
