"""Options, progress, and the words on a failed arm, which `harness profile` and `harness sanitize` share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from harness.cli import completion, exit_codes
from harness.cli.signals import end_politely

OneSolution = Annotated[
    str | None,
    typer.Argument(
        help="A folder name under solutions/PROBLEM/. Default: the only one.",
        show_default=False,
        autocompletion=completion.solutions,
    ),
]
Output = Annotated[
    Path | None,
    typer.Option("-o", "--output", help="Folder for the files. Default: a new one in results/.", show_default=False),
]
Timeout = Annotated[float, typer.Option(min=1, help="Seconds after which a run under a tool is ended.")]


@contextmanager
def looking(quiet: bool) -> Iterator[Callable[[str], None]]:
    """Give it what is being done: a spinner on a terminal, lines elsewhere, nothing if `quiet`; on stderr.

    A solution that doesn't compile, raises or crashes ends the command with exit code 1, and is said how.
    """
    end_politely()
    from harness.reports import quoted
    from harness.tools import ArmFailed

    try:
        with _telling(quiet) as say:
            yield say
    except ArmFailed as failed:
        if failed.details:
            typer.echo(quoted(failed.details.rstrip(), "| "), err=True)
        typer.echo(quoted(str(failed), "harness: "), err=True)
        raise typer.Exit(exit_codes.FAILED) from None


@contextmanager
def _telling(quiet: bool) -> Iterator[Callable[[str], None]]:
    from rich.console import Console
    from rich.text import Text

    console = Console(stderr=True, quiet=quiet)
    if not console.is_terminal:
        yield lambda what: console.print(Text(f"… {what}"))
        return
    with console.status("looking for the GPU") as status:
        yield lambda what: status.update(Text(what))
