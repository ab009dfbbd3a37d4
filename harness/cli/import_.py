"""`harness import`: problems and solutions of others."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from harness.cli import exit_codes

import_app = typer.Typer(no_args_is_help=True, help="Take over problems and solutions of KernelBench.")


@import_app.callback()
def import_() -> None:
    """Keep `kernelbench` a subcommand, though it is the only one."""


@import_app.command("kernelbench")
def kernelbench(
    checkout: Annotated[Path, typer.Argument(metavar="DIR", help="A checkout of KernelBench.", show_default=False)],
    level: Annotated[
        list[int] | None, typer.Option(min=1, help="A level; repeatable. Default: 1, 2 and 3.", show_default=False)
    ] = None,
    runs: Annotated[
        list[str] | None, typer.Option(help="A folder under runs/; repeatable. Default: all.", show_default=False)
    ] = None,
) -> None:
    """Copy KernelBench's problems, and the samples in its runs/, into the workspace here.

    What can't be imported is named on stderr, and the rest imported. Exit codes: 0 everything, 1 something was left
    out, 2 nothing could be imported.

    Example: harness import kernelbench ../KernelBench --level 1 --runs my_run
    """
    from harness.reports import quoted
    from harness.workspace.kernelbench import import_kernelbench
    from harness.workspace.workspace import Workspace

    found = import_kernelbench(Workspace(Path.cwd()), checkout, level or (), runs or ())
    for what in found.left_out:
        typer.echo(quoted(what, "left out: "), err=True)
    typer.echo(
        f"imported {len(found.problems)} problems and {len(found.solutions)} solutions; "
        f"{len(found.kept)} were here already; {len(found.left_out)} left out"
    )
    if found.left_out:
        raise typer.Exit(exit_codes.USAGE if found.is_empty else exit_codes.FAILED)
