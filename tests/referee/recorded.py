"""The record of an evaluation whose judging a test scripts."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from harness.builder.build import BuildOutcome
from harness.model.config import Config
from harness.model.environment import Environment
from harness.model.evaluation import Evaluation
from harness.referee.evaluation import evaluate
from harness.referee.job import make_job
from harness.workspace.selection import select_tasks
from harness.workspace.workspace import Workspace
from tests.examples import environment
from tests.files import laid
from tests.workspace.test_problem import SOURCE


def recorded(
    root: Path,
    workers: Any,
    where: Environment = environment(),
    built: BuildOutcome = BuildOutcome((), None, 0.0),
    source: str = SOURCE,
    files: Mapping[str, str] = {},
) -> Evaluation:
    """Evaluate the one solution of a workspace, which has `files` beside its solution.py."""
    solution = {"solution.py": "class ModelNew: ...", **files}
    laid(root / "solutions" / "pool" / "own", solution)
    laid(root / "problems" / "pool", {"problem.py": source})
    (task,) = select_tasks(Workspace(root))
    return evaluate(make_job("run", task, Config(), 1), workers, where, built)
