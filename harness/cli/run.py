"""`harness run` and `harness compare`: evaluate solutions of one problem, or of all that match."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import harness
from harness import reports
from harness.cli import completion
from harness.cli.options import EngineOptions, EvaluatingOptions, ProblemPatterns, SolutionPatterns, spread
from harness.errors import UsageError

if TYPE_CHECKING:
    from harness.workspace.selection import Task


@spread
def run(
    what: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="PROBLEM [SOLUTION]",
            hidden=True,
            autocompletion=completion.problems_then_solutions,
        ),
    ] = None,
    problem: Annotated[
        str | None,
        typer.Option(
            "-p", "--problem", metavar="NAME", help="A folder name under problems/.", autocompletion=completion.problems
        ),
    ] = None,
    solution: Annotated[
        list[str] | None,
        typer.Option(
            "-s",
            "--solution",
            metavar="NAME",
            help="A name or pattern (* ? [ ]) of its solutions; repeatable. Default: all.",
            autocompletion=completion.solutions,
        ),
    ] = None,
    reference: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="A bare file with Model and get_inputs(), for a bare file with ModelNew."),
    ] = None,
    *,
    options: EvaluatingOptions,
) -> None:
    """Judge the solutions of a problem: compile, check against the reference, time on the GPU.

    Examples: harness run maxpool2d plain, harness run attempt.py --reference ref.py
    """
    from harness.cli.evaluating import evaluate
    from harness.workspace.selection import tasks_of
    from harness.workspace.workspace import workspace_of_files

    words = [*([problem] if problem else []), *(what or [])]
    if not words:
        raise UsageError("which problem? 'harness run PROBLEM'; 'harness list' shows what there is")
    with contextlib.ExitStack() as stack:
        if reference is not None:
            if len(words) != 1:
                raise UsageError(f"--reference goes with one file that holds ModelNew; not {', '.join(words)}")
            attempt = Path(words[0])
            workspace, words, kept = stack.enter_context(workspace_of_files(reference, attempt, Path.cwd()))
            options = replace(options, results=options.results or kept)
        elif words[0].endswith(".py"):
            raise UsageError(f"{words[0]} is a file: name the file with Model as well, --reference ref.py")
        else:
            workspace = harness.find_workspace()
            words[:1] = words[0].removeprefix("solutions/").strip("/").split("/", 1)  # as reports and the shell name it
        named = words[1:] + (solution or [] if reference is None else [])
        tasks, broken = tasks_of(workspace, words[0], named, options.case or [])
        if reference is not None:
            tasks = [_of_files(task, str(reference), str(attempt)) for task in tasks]

        evaluate(workspace, tasks, options, lambda done, kept: reports.run_report(done, options.verbose), broken)


def _of_files(task: Task, reference: str, attempt: str) -> Task:
    return replace(task, problem=replace(task.problem, file=reference), solution=replace(task.solution, file=attempt))


@spread
def compare(
    problem: ProblemPatterns = None,
    solution: SolutionPatterns = None,
    *,
    options: EvaluatingOptions,
    where: EngineOptions,
) -> None:
    """Evaluate all solutions of all matching problems, rank them, and sum up.

    Builds run in parallel while every GPU measures one solution at a time.

    Example: harness compare --problem 'conv2d_*' --baseline eager,compile
    """
    from harness.cli.evaluating import evaluate
    from harness.workspace.selection import find_tasks

    workspace = harness.find_workspace()
    tasks, broken = find_tasks(workspace, problem or [], solution or [], options.case or [])

    evaluate(
        workspace, tasks, options, lambda done, kept: reports.compare_report(done, kept, options.verbose), broken, where
    )
