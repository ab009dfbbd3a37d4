"""`harness history`: how solutions of a problem did over time."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from harness.cli import completion
from harness.cli.options import BackendChoice, ProblemName, ResultsFolder, RunName
from harness.cli.printing import print_json, print_report, say
from harness.cli.store import chosen_entries, open_store


def history(
    problem: ProblemName,
    solution: Annotated[
        str | None,
        typer.Argument(
            help="A folder name under solutions/PROBLEM/. Default: all.",
            show_default=False,
            autocompletion=completion.solutions,
        ),
    ] = None,
    run: RunName = None,
    backend: Annotated[BackendChoice, typer.Option(help="Only what ran there. auto: everything.")] = "auto",
    limit: Annotated[int, typer.Option("-n", "--limit", min=1, help="The newest so many of each solution.")] = 20,
    plot: Annotated[Path | None, typer.Option(help="Also draw the speed-ups into this .png or .svg.")] = None,
    json: Annotated[bool, typer.Option("--json", help="One evaluation a line, without samples.")] = False,
    results: ResultsFolder = None,
) -> None:
    """Show how solutions of a problem did over time, oldest first.

    Compared are evaluations of one environment and config: 'change' is the speed-up over that of the one before,
    '=' where their intervals overlap.

    Example: harness history maxpool2d shared_tile
    """
    from harness.reports import histories, history_json, history_report

    only = None if backend == "auto" else backend
    with open_store(results) as index:
        found = histories(chosen_entries(index, problem, solution, run=run, backend=only), limit)
    if plot is not None:
        from harness.reports import save_history_plot

        save_history_plot(found, plot)
        say(f"wrote {plot}")
    if json:
        for series in found:
            for facts in history_json(series):
                print_json(facts)
    else:
        print_report(history_report(found))
