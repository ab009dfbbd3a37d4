"""`harness compare`: all solutions of all matching problems in one sitting."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from harness.cli import completion
from harness.cli.baselines import Baselines, measuring
from harness.cli.options import (
    AsJson,
    Backend,
    BackendChoice,
    Cases,
    ConfigName,
    DryRun,
    Jobs,
    LastFailed,
    LockClocks,
    MaxFailures,
    MinOwnShare,
    NoSource,
    Nvcc,
    Quiet,
    Results,
    Resume,
    Sanitize,
    Seed,
    Timing,
    Verbose,
)

if TYPE_CHECKING:
    from rich.console import Console

    from harness.model.evaluation import Evaluation


def compare(
    problem: Annotated[
        list[str] | None,
        typer.Option(
            "-p",
            "--problem",
            help="A name or pattern (* ? [ ]) of problems; repeatable. Default: all.",
            autocompletion=completion.problems,
        ),
    ] = None,
    solution: Annotated[
        list[str] | None,
        typer.Option(
            "-s",
            "--solution",
            help="A name or pattern of solutions; repeatable. Default: all.",
            autocompletion=completion.solutions,
        ),
    ] = None,
    baseline: Baselines = None,
    case: Cases = None,
    backend: Backend = BackendChoice.AUTO,
    config: ConfigName = None,
    seed: Seed = None,
    timing: Timing = True,
    lock_clocks: LockClocks = None,
    nvcc: Nvcc = True,
    sanitize: Sanitize = False,
    min_own_share: MinOwnShare = None,
    results: Results = None,
    no_source: NoSource = False,
    jobs: Jobs = None,
    max_failures: MaxFailures = None,
    last_failed: LastFailed = False,
    resume: Resume = False,
    dry_run: DryRun = False,
    json: AsJson = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Evaluate all solutions of all matching problems, rank them, and sum up.

    Builds run in parallel while every GPU measures one solution at a time.

    Example: harness compare --problem 'conv2d_*' --baseline eager,compile
    """
    from harness.cli.sitting import Choices, hold
    from harness.workspace.selection import select_tasks
    from harness.workspace.workspace import find_workspace, select_cases

    workspace = find_workspace(Path.cwd())
    tasks = select_tasks(workspace, problem or [], solution or [], case or [])
    settings = measuring(workspace.config(config).at_clock(lock_clocks), timing, baseline, nvcc).sanitized(sanitize)
    settings = settings.with_own_share(min_own_share)
    for chosen in {task.problem.name: task.problem for task in tasks}.values():
        select_cases(chosen, [settings.timing.case])

    def report(console: Console, evaluations: Sequence[Evaluation], kept: frozenset[str]) -> None:
        from harness.reports import compare_report

        console.print(compare_report(evaluations, kept, verbose))

    choices = Choices(
        backend=backend.value,
        config=settings,
        seed=seed,
        results=results or workspace.results,
        no_source=no_source,
        jobs=jobs,
        max_failures=max_failures,
        resume=resume,
        last_failed=last_failed,
        dry_run=dry_run,
        json=json,
        quiet=quiet,
    )
    hold(workspace, tasks, choices, report)
