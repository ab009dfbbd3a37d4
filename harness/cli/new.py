"""`harness new`: problems and solutions that are right as they are, to be changed from there."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from harness.cli import completion
from harness.cli.options import ProblemName

new_app = typer.Typer(no_args_is_help=True, help="Make a problem or a solution to start from.")


@new_app.command("problem")
def problem(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="The new folder's name under problems/.", show_default=False)],
    source: Annotated[
        Path | None, typer.Option("--from", help="A KernelBench file to take as it stands.", show_default=False)
    ] = None,
) -> None:
    """Make a problem: an example to edit, or a KernelBench file.

    Example: harness new problem gelu --from KernelBench/level1/26_GELU_.py
    """
    from harness.workspace.scaffold import new_problem
    from harness.workspace.workspace import find_workspace

    workspace = find_workspace(Path.cwd())
    _report(context, workspace.root, new_problem(workspace, name, source))
    typer.echo(f"next: harness new solution {name} first")


@new_app.command("solution")
def solution(
    context: typer.Context,
    problem: ProblemName,
    name: Annotated[str, typer.Argument(help="The new folder's name.", show_default=False)],
    other: Annotated[
        str | None,
        typer.Option(
            "--from", help="A solution of the problem to copy.", show_default=False, autocompletion=completion.solutions
        ),
    ] = None,
) -> None:
    """Make a solution to start from: a copy of another, or the reference with a kernel beside it.

    Example: harness new solution maxpool2d faster --from shared_tile
    """
    from harness.workspace.scaffold import new_solution
    from harness.workspace.workspace import find_workspace

    workspace = find_workspace(Path.cwd())
    _report(context, workspace.root, new_solution(workspace, workspace.problem(problem), name, other))
    typer.echo(f"next: harness run --problem {problem} --solution {name}")


def _report(context: typer.Context, root: Path, made: list[Path]) -> None:
    from harness.cli.schemas import write_schemas

    for path in [*made, *write_schemas(root, context.find_root().command)]:
        typer.echo(f"made  {path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path}")
