"""`harness history` and `harness plot`: how solutions did over time, and pictures of evaluations."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from harness import reports
from harness.cli import completion
from harness.cli.options import BackendChoice, ProblemName, ResultsFolder, RunName
from harness.cli.printing import print_json, print_report, say
from harness.cli.store import chosen_entries, open_store
from harness.errors import UsageError
from harness.suggest import did_you_mean

if TYPE_CHECKING:
    from harness.model.evaluation import Evaluation
    from harness.store.index import Index


def history(
    problem: ProblemName,
    solution: Annotated[
        str | None,
        typer.Argument(
            help="A folder name under solutions/PROBLEM/. Default: all.", autocompletion=completion.solutions
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
    only = None if backend == "auto" else backend
    with open_store(results) as index:
        found = reports.histories(chosen_entries(index, problem, solution, run=run, backend=only), limit)
    if plot is not None:
        reports.save_history_plot(found, plot)
        say(f"wrote {plot}")
    if json:
        for series in found:
            for facts in reports.history_json(series):
                print_json(facts)
    else:
        print_report(reports.history_report(found))


class PictureFormat(str, enum.Enum):
    SVG = "svg"
    PNG = "png"


def plot(
    problem: Annotated[
        str,
        typer.Argument(
            metavar="PROBLEM|ID",
            help="A problem, or an evaluation's identifier as in 'harness show'.",
            autocompletion=completion.problems_and_evaluations,
        ),
    ] = "last",
    solution: Annotated[
        str | None,
        typer.Argument(help="One of the problem's solutions. Default: all.", autocompletion=completion.solutions),
    ] = None,
    output: Annotated[Path, typer.Option("-o", "--output", help="Folder of the pictures.")] = Path("plots"),
    format: Annotated[list[PictureFormat] | None, typer.Option(help="svg or png; repeatable. Default: both.")] = None,
    json: Annotated[bool, typer.Option("--json", help="What the pictures show, an evaluation a line.")] = False,
    results: ResultsFolder = None,
) -> None:
    """Draw an evaluation: the calls of each arm over time and as a histogram, and what they achieve below the ceilings
    of the device.

    Of a problem, each solution's newest evaluation that was timed is drawn. The names of the files go to stdout.

    Example: harness plot maxpool2d shared_tile --format svg
    """
    with open_store(results) as index:
        evaluations = _chosen(index, problem, solution)
    formats = list(dict.fromkeys(one.value for one in format)) if format else reports.PICTURE_FORMATS
    for evaluation in evaluations:
        shown = reports.draw_pictures(evaluation, output, formats)
        if json:
            print_json(shown)
        else:
            typer.echo("\n".join(shown["files"]))


def _chosen(index: Index, name: str, solution: str | None) -> Sequence[Evaluation]:
    """Evaluations to draw. Raises: UsageError, with a suggestion, where there is none or none was timed."""
    from harness.store.index import LAST

    problems = {problem for problem, _ in index.names()}
    is_misspelt = name not in LAST and did_you_mean(name, problems, otherwise="") != ""
    if solution is None and name not in problems and not is_misspelt:
        return [index.evaluation(name)]
    entries = chosen_entries(index, name, solution)
    newest = {entry.solution: entry.id for entry in entries if entry.solution_ns is not None}
    if not newest:
        of = f"{name}/{solution}" if solution else name
        raise UsageError(f"no evaluation of {of} was timed: 'harness run --problem {name}' on a GPU times what passes")
    return list(index.evaluations(newest[name] for name in sorted(newest)))
