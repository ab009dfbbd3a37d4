"""`harness show`, `diff` and `feedback`: evaluations by their identifiers; `harness explain`: the words in them."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

import harness
from harness import reports
from harness.cli import completion
from harness.cli.options import EvaluationName, JsonFlag, OfSolution, ResultsFolder
from harness.cli.printing import print_json, print_report
from harness.cli.store import open_store
from harness.errors import InvalidFile, UsageError


def show(
    evaluation: EvaluationName = "last",
    solution: OfSolution = None,
    json: Annotated[bool, typer.Option("--json", help="The record, exactly the journal's.")] = False,
    statistics: Annotated[
        bool, typer.Option("--statistics", help="What is derived from the times, as one JSON object.")
    ] = False,
    source: Annotated[bool, typer.Option("--source", help="The files that were judged.")] = False,
    log: Annotated[bool, typer.Option("--log", help="What the compilers said.")] = False,
    results: ResultsFolder = None,
) -> None:
    """Show one evaluation: verdict, times, checks, kernels, environment, and how to repeat it.

    The evaluation is named by its identifier, a unique beginning or end of it, or 'last'; of a problem, or of one
    solution (PROBLEM SOLUTION, or PROBLEM/SOLUTION), the newest is shown.

    Example: harness show maxpool2d plain
    """
    if json + statistics + source + log > 1:
        raise UsageError("--json, --statistics, --source and --log are four answers: ask for one")
    with open_store(results) as index:
        found = index.evaluation(evaluation if solution is None else f"{evaluation}/{solution}")
    if json:
        from harness.store.line import to_line

        typer.echo(to_line(found))
    elif statistics:
        if found.timing is None:
            raise UsageError(f"{found.id} was not timed: --statistics is of times")
        print_json(reports.timing_json(found), indent=2)
    elif source or log:
        typer.echo(reports.source_text(found) if source else reports.log_text(found), nl=False)
    else:
        print_report(reports.show_report(found, _cases_of(found, () if results else None)))


def feedback(evaluation: EvaluationName = "last", solution: OfSolution = None, results: ResultsFolder = None) -> None:
    """Print an evaluation for a language model's next attempt: what failed, what to do, times, the source.

    Example: harness feedback last
    """
    with open_store(results) as index:
        found = index.evaluation(evaluation if solution is None else f"{evaluation}/{solution}")
    typer.echo(reports.feedback_text(found), nl=False)


def diff(
    first: EvaluationName,
    second: EvaluationName,
    json: JsonFlag = False,
    results: ResultsFolder = None,
) -> None:
    """Compare two evaluations: verdicts, speed with its interval, config, environment, source.

    Example: harness diff 20261121T0434 last
    """
    with open_store(results) as index:
        found = reports.Difference(index.evaluation(first), index.evaluation(second))
    if json:
        print_json(reports.difference_json(found), indent=2)
    else:
        print_report(reports.difference_report(found))


def _cases_of(evaluation: harness.Evaluation, otherwise: tuple[str, ...] | None) -> tuple[str, ...] | None:
    """The problem's cases, as far as its folder is at hand. Bare files have none."""
    name = evaluation.problem.name
    try:
        workspace = harness.find_workspace()
        return tuple(workspace.problem(name).cases) if name in workspace.problem_names() else otherwise
    except InvalidFile:
        return ()
    except UsageError:
        return otherwise


def explain(
    word: Annotated[
        str | None,
        typer.Argument(
            metavar="[WORD]",
            help="A verdict, a check, a word of a timing, a finding of the simulator. Default: the list.",
            autocompletion=completion.explained_words,
        ),
    ] = None,
    json: JsonFlag = False,
) -> None:
    """Explain a verdict, a check, a word of a timing or a finding: how it is seen, what causes it, what to do.

    Example: harness explain wall_clock
    """
    if word is not None:
        name, found = reports.explanation_of(word)
        if json:
            print_json({"name": name, **asdict(found)}, indent=2)
        else:
            print_report(reports.explained(name, found))
    elif json:
        print_json(
            {name: asdict(explanation) for name, explanation in reports.everything_explained().items()}, indent=2
        )
    else:
        print_report(reports.all_explained())
