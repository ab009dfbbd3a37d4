"""`harness run`: evaluate solutions of one problem."""

from __future__ import annotations

import signal
from dataclasses import replace
from pathlib import Path

import typer

from harness.cli import exit_codes
from harness.cli.options import (
    AsJson,
    Backend,
    BackendChoice,
    Cases,
    ConfigName,
    Problem,
    Quiet,
    Results,
    Seed,
    Solutions,
    Timing,
    Verbose,
)


def run(
    problem: Problem,
    solution: Solutions = None,
    case: Cases = None,
    backend: Backend = BackendChoice.AUTO,
    config: ConfigName = None,
    seed: Seed = None,
    timing: Timing = True,
    results: Results = None,
    json: AsJson = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Evaluate solutions of a problem: compile, check against the reference, time on the GPU.

    Example: harness run --problem maxpool2d --solution plain
    """
    from harness.workspace.selection import Task
    from harness.workspace.workspace import find_workspace, select_cases

    workspace = find_workspace(Path.cwd())
    chosen = workspace.problem(problem)
    cases = tuple(select_cases(chosen, case or []))
    tasks = [Task(chosen, one, cases) for one in workspace.solutions(problem, solution or [])]
    settings = workspace.config(config)
    select_cases(chosen, [settings.timing.case])
    if not timing:
        settings = replace(settings, timing=replace(settings.timing, enabled=False))

    signal.signal(signal.SIGTERM, signal.default_int_handler)  # a polite kill keeps results, as Ctrl-C does
    from rich.console import Console

    from harness.cli.progress import Progress
    from harness.executors.session import open_session  # torch comes in here
    from harness.records.journal import to_line
    from harness.reports.console import print_report

    evaluations = []
    try:
        with Progress(quiet) as progress:
            session = open_session(
                backend.value, workspace.root, results or workspace.results, settings, seed, progress.say
            )
            for evaluation in session.evaluate(tasks, progress.observe):
                evaluations.append(evaluation)
                progress.finished(evaluation)
                if json:
                    typer.echo(to_line(evaluation))
    finally:  # also what an interrupted run has found
        if evaluations and not json:
            print_report(Console(), evaluations, verbose)
    raise typer.Exit(exit_codes.of_evaluations(evaluations))
