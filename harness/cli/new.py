"""`harness init`, `harness new` and `harness import`: what begins a workspace, a problem or a solution."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Annotated

import typer

import harness
from harness import reports
from harness.cli import completion, exit_codes
from harness.cli.config import write_schemas
from harness.cli.options import ProblemName
from harness.errors import UsageError, refused
from harness.model.plural import several

new_app = typer.Typer(no_args_is_help=True, help="Make a problem or a solution to start from.")
import_app = typer.Typer(no_args_is_help=True, help="Take over problems and solutions of KernelBench.")


def init(
    context: typer.Context,
    folder: Annotated[Path, typer.Argument(help="Where; made if it isn't there.")] = Path("."),
) -> None:
    """Make a workspace: an example problem with a solution, the default config, results/, schemas for editors.

    Files that are already there stay as they are. Example: harness init my-kernels
    """
    from harness.workspace.scaffold import TEMPLATE

    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder} is a file; name a folder")
    made = 0
    for source in sorted(path for path in TEMPLATE.rglob("*") if path.is_file() and "__pycache__" not in path.parts):
        target = folder / source.relative_to(TEMPLATE)
        if target.exists():
            typer.echo(f"kept  {target}")
            continue
        with refused(UsageError, f"can't write {target}"):
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)
        made += 1
        typer.echo(f"made  {target}")
    for target in write_schemas(folder, context.find_root().command):
        made += 1
        typer.echo(f"made  {target}")
    enter = "" if folder == Path(".") else f"cd {folder} && "
    typer.echo(f"next: {enter}harness run relu" if made else "nothing to make")


@new_app.command("problem")
def problem(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="The new folder's name under problems/.")],
    source: Annotated[Path | None, typer.Option("--from", help="A KernelBench file to take as it stands.")] = None,
) -> None:
    """Make a problem: an example to edit, or a KernelBench file.

    Example: harness new problem gelu --from KernelBench/level1/26_GELU_.py
    """
    from harness.workspace.scaffold import new_problem

    workspace = harness.find_workspace()
    _report(context, workspace.root, new_problem(workspace, name, source))
    edit = "" if source else "put your Model into problem.py, its sizes into problem.yaml's cases; "
    typer.echo(f"next: {edit}harness new solution {name} first")


@new_app.command("solution")
def solution(
    context: typer.Context,
    problem: ProblemName,
    name: Annotated[str, typer.Argument(help="The new folder's name.")],
    other: Annotated[
        str | None,
        typer.Option("--from", help="A solution of the problem to copy.", autocompletion=completion.solutions),
    ] = None,
) -> None:
    """Make a solution to start from: a copy of another, or the reference with a kernel beside it.

    Example: harness new solution maxpool2d faster --from shared_tile
    """
    from harness.workspace.scaffold import new_solution

    workspace = harness.find_workspace()
    _report(context, workspace.root, new_solution(workspace, workspace.problem(problem), name, other))
    typer.echo(f"next: harness run {problem} {name}")


@import_app.callback()
def import_() -> None:
    """Keep `kernelbench` a subcommand, though it is the only one."""


@import_app.command("kernelbench")
def kernelbench(
    checkout: Annotated[Path, typer.Argument(metavar="DIR", help="A checkout of KernelBench.")],
    level: Annotated[list[int] | None, typer.Option(min=1, help="A level; repeatable. Default: 1, 2 and 3.")] = None,
    runs: Annotated[list[str] | None, typer.Option(help="A folder under runs/; repeatable. Default: all.")] = None,
) -> None:
    """Copy KernelBench's problems, and the samples in its runs/, into the workspace here.

    What can't be imported is named on stderr, and the rest imported. Exit codes: 0 everything, 1 something was left
    out, 2 nothing could be imported.

    Example: harness import kernelbench ../KernelBench --level 1 --runs my_run
    """
    from harness.workspace.kernelbench import import_kernelbench

    found = import_kernelbench(harness.Workspace(Path.cwd()), checkout, level or (), runs or ())
    for what in found.left_out:
        typer.echo(reports.quoted(what, "left out: "), err=True)
    for path in found.without_model_new:
        typer.echo(reports.quoted(f"{path}: it defines no ModelNew", "will fail: "), err=True)
    typer.echo(
        f"imported {several(len(found.problems), 'problem')} and {several(len(found.solutions), 'solution')}; "
        f"{len(found.kept)} were here already; {len(found.left_out)} left out"
    )
    if found.left_out:
        is_any_here = found.problems or found.solutions or found.kept
        raise typer.Exit(exit_codes.FAILED if is_any_here else exit_codes.USAGE)


def _report(context: typer.Context, root: Path, made: list[Path]) -> None:
    for path in [*made, *write_schemas(root, context.find_root().command)]:
        typer.echo(f"made  {path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path}")
