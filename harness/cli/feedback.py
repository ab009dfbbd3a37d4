"""`harness feedback`: an evaluation as text for a language model's next attempt."""

from __future__ import annotations

import typer

from harness.cli.options import EvaluationId, ResultsFolder
from harness.cli.store import open_store


def feedback(evaluation: EvaluationId = "last", results: ResultsFolder = None) -> None:
    """Print an evaluation for a language model's next attempt: what failed, what to do, times, the source.

    Example: harness feedback last
    """
    from harness.reports import feedback_text

    with open_store(results) as index:
        typer.echo(feedback_text(index.evaluation(evaluation)), nl=False)
