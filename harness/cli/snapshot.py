"""`harness snapshot`: the accepted evaluations that a gate compares with."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import harness
from harness import gate, reports
from harness.cli import completion
from harness.cli.options import ProblemPatterns, ResultsFolder, SolutionPatterns
from harness.cli.printing import print_report, say
from harness.errors import UsageError

snapshot_app = typer.Typer(no_args_is_help=True, help="Accepted evaluations, which git keeps and a gate compares with.")


@snapshot_app.command("accept")
def accept(
    run: Annotated[
        str,
        typer.Option(
            "--run", metavar="ID", help="A run; the beginning of its name is enough.", autocompletion=completion.runs
        ),
    ] = "latest",
    problem: ProblemPatterns = None,
    solution: SolutionPatterns = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Default: snapshot.jsonl of the workspace.")
    ] = None,
    results: ResultsFolder = None,
) -> None:
    """Put a run's evaluations into the snapshot, in place of the former ones of the same solution and GPU.

    All must have ended as expected and, on a GPU, be measured well. Solutions that are gone from the workspace leave
    the snapshot, and so do entries of the simulator's for those that need a GPU by now.

    Example: harness snapshot accept --run latest
    """
    workspace = harness.find_workspace()
    done = gate.accept_run(workspace, run, results or workspace.results, output, problem or (), solution or ())
    for remark in done.remarks:
        say(remark)
    name = done.path.name
    typer.echo(f"accepted {done.accepted} of run {done.run}; {name} holds {done.kept}, {done.gone} left it")
    typer.echo(f"next: git add {name}, and commit it with the change that it belongs to")


@snapshot_app.command("show")
def show_snapshot(
    snapshot: Annotated[
        str | None, typer.Option(metavar="FILE|git:REF|run:ID", help="Default: snapshot.jsonl of the workspace.")
    ] = None,
    results: ResultsFolder = None,
    json: Annotated[bool, typer.Option("--json", help="The entries as they are kept, one a line.")] = False,
) -> None:
    """List what a snapshot holds. Example: harness snapshot show --snapshot git:origin/main"""
    workspace = harness.find_workspace()
    found = gate.open_snapshot(snapshot, workspace.root, results or workspace.results)
    if found is None:
        raise UsageError(f"no {gate.SNAPSHOT_FILE} in {workspace.root}; make one with 'harness snapshot accept'")
    if json:
        typer.echo(gate.render(found.accepted), nl=False)
        return
    print_report(reports.snapshot_table(found.accepted))
