"""`harness run`: evaluate solutions of one problem."""

from __future__ import annotations

import enum
import signal
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from harness.cli import exit_codes


class BackendChoice(str, enum.Enum):
    AUTO = "auto"
    CUDA = "cuda"
    SIM = "sim"


Problem = Annotated[str, typer.Option("-p", "--problem", help="A folder name under problems/.", show_default=False)]
Solutions = Annotated[
    list[str] | None,
    typer.Option("-s", "--solution", help="A folder name under solutions/PROBLEM/; repeatable. Default: all."),
]
Cases = Annotated[list[str] | None, typer.Option("-c", "--case", help="A case; repeatable. Default: all.")]
Backend = Annotated[BackendChoice, typer.Option(help="auto: the GPU where there is one, else the simulator.")]
ConfigName = Annotated[str | None, typer.Option("--config", help="A name in configs/ or a file.", show_default=False)]
Seed = Annotated[int | None, typer.Option(help="Repeat a run's inputs. Default: drawn at run time.")]
Timing = Annotated[bool, typer.Option("--timing/--no-timing", help="Measure speed after correctness.")]
Results = Annotated[Path | None, typer.Option(help="Folder of the journals. Default: results/ of the workspace.")]
AsJson = Annotated[bool, typer.Option("--json", help="One record a line on stdout, exactly the journal's.")]
Quiet = Annotated[bool, typer.Option("-q", "--quiet", help="No progress on stderr.")]
Verbose = Annotated[bool, typer.Option("-v", "--verbose", help="Details of failures, and remarks.")]


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
    from harness.workspace.workspace import find_workspace, select_cases

    workspace = find_workspace(Path.cwd())
    chosen = workspace.problem(problem)
    solutions = workspace.solutions(problem, solution or [])
    cases = select_cases(chosen, case or [])
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
            for evaluation in session.evaluate(chosen, solutions, cases, progress.observe):
                evaluations.append(evaluation)
                progress.finished(evaluation)
                if json:
                    typer.echo(to_line(evaluation))
    finally:  # also what an interrupted run has found
        if evaluations and not json:
            print_report(Console(), evaluations, verbose)
    raise typer.Exit(exit_codes.of_evaluations(evaluations))
