"""Output of commands: printed, and written into files."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from harness import reports
from harness.errors import MachineError, refused

if TYPE_CHECKING:
    from rich.console import RenderableType


def say(what: str) -> None:
    """Tell on stderr what isn't the answer."""
    typer.echo(f"harness: {what}", err=True)


def print_report(report: RenderableType) -> None:
    """Print a report within the width of the terminal; into a pipe or a file, as wide as it is."""
    if is_terminal():
        from rich.console import Console

        Console(highlight=False).print(report)
    else:
        # echo() alone would take out the colours that FORCE_COLOR asks for.
        typer.echo(reports.plain_text(report, may_colour=True), nl=False, color=True)


def is_terminal() -> bool:
    return sys.stdout.isatty()


def print_json(value: Any, indent: int | None = None) -> None:
    """Print a value of JSON's in one line, or indented."""
    typer.echo(json.dumps(value, indent=indent))


def write_text(path: Path, text: str, option: str, *, with_folder: bool = False) -> None:
    """Write a file, and its folder where that is asked for. Raises: MachineError, which advises another `option`."""
    with refused(MachineError, f"can't write {path}", f"choose another {option}"):
        if with_folder:
            path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
