"""Where the gate's answer goes: the terminal, files, GitHub."""

from __future__ import annotations

import os
import secrets
from dataclasses import dataclass
from pathlib import Path

import typer
from rich.console import Console

from harness.errors import JournalError, UsageError
from harness.model.gate import GateReport
from harness.reports import (
    SUMMARY_BYTES,
    annotation_commands,
    gate_json,
    gate_markdown,
    gate_report,
    junit_xml,
    resuming,
    sarif_json,
    stopping,
    without_old_commands,
)


@dataclass(frozen=True)
class Targets:
    """What was asked for."""

    junit: Path | None
    sarif: Path | None
    markdown: Path | None
    github: bool
    json: bool
    verbose: bool

    def check(self) -> None:
        """Before minutes of work. Raises: UsageError for a file that can't be written there."""
        for option, path in (("--junit", self.junit), ("--sarif", self.sarif), ("--markdown", self.markdown)):
            if path is not None and path.is_dir():
                raise UsageError(f"{option} {path}: a folder; name a file in it")
            if path is not None and not path.absolute().parent.is_dir():
                raise UsageError(f"{option} {path}: no such folder; make it first")
            if path is not None:
                _require_writable(option, path)


def stop_commands(targets: Targets) -> str:
    """From here on the runner of GitHub Actions obeys nothing that is printed, until deliver() tells it the token.

    After an error it obeys nothing to the step's end: the words of an error may be a solution's.
    """
    token = secrets.token_hex(16)  # nobody can guess it
    if targets.github:
        typer.echo(stopping(token), err=True)  # the runner reads both, each in its order
        if not targets.json:  # which is to stay one object on stdout
            typer.echo(stopping(token))
    return token


def deliver(report: GateReport, targets: Targets, token: str) -> None:
    """Raises: JournalError where a file can't be written; what comes before it in this order is there."""
    _print(report, targets)
    if targets.github:
        typer.echo(resuming(token), err=targets.json)
        for command in annotation_commands(report):
            typer.echo(command, err=targets.json)
        if summary := os.environ.get("GITHUB_STEP_SUMMARY"):
            _write(Path(summary), gate_markdown(report, SUMMARY_BYTES), append=True)
    if targets.junit:
        _write(targets.junit, junit_xml(report))
    if targets.sarif:
        _write(targets.sarif, sarif_json(report))
    if targets.markdown:
        _write(targets.markdown, gate_markdown(report))


def _require_writable(option: str, path: Path) -> None:
    existed = path.exists()
    try:
        path.open("a").close()
    except OSError as error:
        raise UsageError(f"{option} {path}: can't be written: {error.strerror}; choose another file") from None
    if not existed:
        path.unlink()


def _print(report: GateReport, targets: Targets) -> None:
    if targets.json:
        text = gate_json(report)
        typer.echo(without_old_commands(text) if targets.github else text)
    else:
        Console().print(gate_report(report, targets.verbose))


def _write(path: Path, text: str, append: bool = False) -> None:
    try:
        with path.open("a" if append else "w", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise JournalError(f"can't write {path}: {error.strerror}; the results are kept in the journal") from None
