"""`harness prompt`: a problem as a task for a language model."""

from __future__ import annotations

from pathlib import Path

import typer

from harness.cli.options import ProblemName


def prompt(problem: ProblemName) -> None:
    """Print a problem as a task for a language model: rules, cases, the reference.

    Example: harness prompt level1_26_GELU_
    """
    from harness.reports import prompt_text
    from harness.workspace.workspace import find_workspace

    found = find_workspace(Path.cwd()).problem(problem)
    text = prompt_text(found.title, found.source, found.precision, list(found.cases), found.description)
    typer.echo(text, nl=False)
