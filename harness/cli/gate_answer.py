"""The places where the gate's answer goes: the terminal, files, GitHub."""

from __future__ import annotations

import os
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from harness.cli.options import VerboseFlag
from harness.cli.printing import print_report
from harness.errors import JournalError, UsageError

if TYPE_CHECKING:
    from harness.model.gate import GateReport


@dataclass(frozen=True)
class GateOutputs:
    """The forms of the answer that are asked for."""

    junit: Annotated[Path | None, typer.Option(metavar="FILE", help="Write JUnit XML.", show_default=False)] = None
    sarif: Annotated[Path | None, typer.Option(metavar="FILE", help="Write SARIF 2.1.0.", show_default=False)] = None
    markdown: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write Markdown for a comment.", show_default=False)
    ] = None
    github: Annotated[bool, typer.Option("--github", help="Annotations and job summary of GitHub Actions.")] = False
    json: Annotated[bool, typer.Option("--json", help="The report as one JSON object on stdout.")] = False
    verbose: VerboseFlag = False

    def check(self) -> None:
        """Find out before minutes of work. Raises: UsageError for a file that can't be written there."""
        for option, path in (("--junit", self.junit), ("--sarif", self.sarif), ("--markdown", self.markdown)):
            if path is not None and path.is_dir():
                raise UsageError(f"{option} {path}: a folder; name a file in it")
            if path is not None and not path.absolute().parent.is_dir():
                raise UsageError(f"{option} {path}: no such folder; make it first")
            if path is not None:
                _require_writable(option, path)

    def stop_commands(self) -> str:
        """Make the runner of GitHub Actions obey nothing that is printed, until deliver() tells it the token.

        After an error it obeys nothing to the step's end: the words of an error may be a solution's.
        """
        from harness.reports import stopping

        token = secrets.token_hex(16)  # nobody can guess it
        if self.github:
            typer.echo(stopping(token), err=True)  # the runner reads both, each in its order
            if not self.json:  # which is to stay one object on stdout
                typer.echo(stopping(token))
        return token

    def deliver(self, report: GateReport, token: str) -> None:
        """Print, annotate and write; a file that can't be written ends it.

        Raises: JournalError; what comes before the file in this order is there.
        """
        from harness.reports import SUMMARY_BYTES, annotation_commands, gate_markdown, junit_xml, resuming, sarif_json

        self._print(report)
        if self.github:
            typer.echo(resuming(token), err=self.json)
            for command in annotation_commands(report):
                typer.echo(command, err=self.json)
            if summary := os.environ.get("GITHUB_STEP_SUMMARY"):
                _write(Path(summary), gate_markdown(report, SUMMARY_BYTES), append=True)
        for path, text in ((self.junit, junit_xml), (self.sarif, sarif_json), (self.markdown, gate_markdown)):
            if path:
                _write(path, text(report))

    def _print(self, report: GateReport) -> None:
        from harness.reports import gate_json, gate_report, without_old_commands

        if self.json:
            text = gate_json(report)
            typer.echo(without_old_commands(text) if self.github else text)
        else:
            print_report(gate_report(report, self.verbose))


def _require_writable(option: str, path: Path) -> None:
    existed = path.exists()
    try:
        path.open("a").close()
    except OSError as error:
        raise UsageError(f"{option} {path}: can't be written: {error.strerror}; choose another file") from None
    if not existed:
        path.unlink()


def _write(path: Path, text: str, append: bool = False) -> None:
    try:
        with path.open("a" if append else "w", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise JournalError(f"can't write {path}: {error.strerror}; the results are kept in the journal") from None
