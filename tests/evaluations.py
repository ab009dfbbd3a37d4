"""Evaluating the solutions of a workspace in a test, on a real backend."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from harness.model.config import Config, CorrectnessConfig, TimingConfig
from harness.model.evaluation import Evaluation
from harness.run.session import open_session
from harness.workspace.selection import Task
from harness.workspace.workspace import Workspace, select_cases
from tests.machine import ROOT

QUICK = str(ROOT / "configs" / "quick.yaml")
UNTIMED = Config(CorrectnessConfig(seeds=1), TimingConfig(enabled=False))


def evaluate_all(
    root: Path,
    problem: str,
    results: Path,
    backend: Literal["cuda", "sim"],
    *,
    solutions: Sequence[str] = (),
    cases: Sequence[str] = (),
    config: Config | str | None = None,
    seed: int | None = None,
) -> dict[str, Evaluation]:
    """Evaluations by the name of the solution."""
    workspace = Workspace(root)
    chosen = workspace.problem(problem)
    chosen_cases = tuple(select_cases(chosen, cases))
    tasks = [Task(chosen, solution, chosen_cases) for solution in workspace.solutions(problem, solutions)]
    settings = config if isinstance(config, Config) else workspace.config(config)
    with open_session(backend, root, results, settings, seed, lambda what: None) as session:
        found = session.evaluate(tasks, lambda job, what: None)
        return {evaluation.solution.name: evaluation for evaluation in found}
