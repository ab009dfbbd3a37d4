"""`harness diff`: what differs between two evaluations."""

from __future__ import annotations

import json as json_module

import typer

from harness.cli.options import EvaluationId, JsonFlag, ResultsFolder
from harness.cli.store import open_store


def diff(
    first: EvaluationId,
    second: EvaluationId,
    json: JsonFlag = False,
    results: ResultsFolder = None,
) -> None:
    """Compare two evaluations: verdicts, speed with its interval, config, environment, source.

    Example: harness diff 20261121T0434 last
    """
    from harness.reports import difference, difference_json, difference_report

    with open_store(results) as index:
        found = difference(index.evaluation(first), index.evaluation(second))
    if json:
        typer.echo(json_module.dumps(difference_json(found), indent=2, allow_nan=False))
    else:
        from rich.console import Console

        Console(highlight=False).print(difference_report(found))
