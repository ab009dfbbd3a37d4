"""`harness compare`: all solutions of all matching problems in one run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from harness.cli.options import EvaluatingOptions, ProblemPatterns, SolutionPatterns
from harness.cli.spread import spread

if TYPE_CHECKING:
    from rich.console import RenderableType

    from harness.model.evaluation import Evaluation


@spread
def compare(problem: ProblemPatterns = None, solution: SolutionPatterns = None, *, options: EvaluatingOptions) -> None:
    """Evaluate all solutions of all matching problems, rank them, and sum up.

    Builds run in parallel while every GPU measures one solution at a time.

    Example: harness compare --problem 'conv2d_*' --baseline eager,compile
    """
    from harness.cli.evaluating import evaluate
    from harness.workspace.selection import select_tasks
    from harness.workspace.workspace import find_workspace

    workspace = find_workspace(Path.cwd())
    tasks = select_tasks(workspace, problem or [], solution or [], options.case or [])

    def report(evaluations: Sequence[Evaluation], kept: frozenset[str]) -> RenderableType:
        from harness.reports import compare_report

        return compare_report(evaluations, kept, options.verbose)

    evaluate(workspace, tasks, options, report)
