"""`harness run` and `harness compare`: evaluate solutions of one problem, or of all that match."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from harness.cli import completion
from harness.cli.options import EvaluatingOptions, ProblemPatterns, SolutionPatterns, spread

if TYPE_CHECKING:
    from rich.console import RenderableType

    from harness.model.evaluation import Evaluation


@spread
def run(
    problem: Annotated[
        str,
        typer.Option(
            "-p",
            "--problem",
            help="A folder name under problems/.",
            show_default=False,
            autocompletion=completion.problems,
        ),
    ],
    solution: Annotated[
        list[str] | None,
        typer.Option(
            "-s",
            "--solution",
            help="A folder name under solutions/PROBLEM/; repeatable. Default: all.",
            autocompletion=completion.solutions,
        ),
    ] = None,
    *,
    options: EvaluatingOptions,
) -> None:
    """Evaluate solutions of a problem: compile, check against the reference, time on the GPU.

    Example: harness run --problem maxpool2d --solution plain
    """
    from harness.cli.evaluating import evaluate
    from harness.workspace.selection import Task
    from harness.workspace.workspace import find_workspace, select_cases

    workspace = find_workspace(Path.cwd())
    chosen = workspace.problem(problem)
    cases = tuple(select_cases(chosen, options.case or []))
    tasks = [Task(chosen, one, cases) for one in workspace.solutions(problem, solution or [])]

    def report(evaluations: Sequence[Evaluation], kept: frozenset[str]) -> RenderableType:
        from harness.reports import run_report

        return run_report(evaluations, options.verbose)

    evaluate(workspace, tasks, options, report)


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
