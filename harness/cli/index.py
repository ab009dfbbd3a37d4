"""`harness index`: what the journals hold, and which of their lines can't be used."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from harness.cli import exit_codes
from harness.cli.options import JsonFlag, ResultsFolder
from harness.cli.printing import print_json, say
from harness.cli.store import open_store, results_folder
from harness.errors import UsageError

if TYPE_CHECKING:
    from harness.store.index import IndexStatus
    from harness.store.journal import JournalProblem


def index(
    rebuild: Annotated[bool, typer.Option("--rebuild", help="Make the index anew from the journals.")] = False,
    verify: Annotated[bool, typer.Option("--verify", help="Read every record whole, which the index doesn't.")] = False,
    merge: Annotated[
        Path | None, typer.Option(help="Take over the evaluations of another machine's results folder.")
    ] = None,
    json: JsonFlag = False,
    results: ResultsFolder = None,
) -> None:
    """Say what the results folder holds. The index is brought up to date by every command that uses it.

    Ends with 3 where --verify finds a record that can't be read.

    Example: harness index --merge ../other-machine/results
    """
    if merge is not None:
        _merge(merge, results)
    with open_store(results, rebuild) as opened:
        status = opened.status()
    problems = _verified(results_folder(results)) if verify else status.problems
    if json:
        print_json(_as_json(status, problems), indent=2)
    else:
        _print(status, problems)
    if verify and any(not problem.is_harmless for problem in problems):
        raise typer.Exit(exit_codes.MACHINE)


def _merge(source: Path, results: Path | None) -> None:
    from harness.store.merging import merge_journals

    if not source.is_dir():
        raise UsageError(f"--merge {source}: no such folder")
    with open_store(results) as opened:
        known = {entry.id for entry in opened.entries()}
    merged = merge_journals(source, results_folder(results), known)
    say(f"{_count(merged.copied, 'evaluation')} taken over from {source}, {merged.known} were here before")
    for problem in merged.problems:
        say(str(problem))


def _verified(folder: Path) -> tuple[JournalProblem, ...]:
    from harness.store.journal import JournalProblem, scan_journals

    return tuple(found for found in scan_journals(folder) if isinstance(found, JournalProblem))


def _as_json(status: IndexStatus, problems: tuple[JournalProblem, ...]) -> dict[str, object]:
    return {
        "index": str(status.path) if status.path else None,
        "journals": status.journals,
        "runs": status.runs,
        "evaluations": status.evaluations,
        "copies": status.copies,
        "problems": [
            {"file": str(problem.path), "line": problem.line, "what": problem.what, "remedy": problem.remedy}
            for problem in problems
        ],
    }


def _print(status: IndexStatus, problems: tuple[JournalProblem, ...]) -> None:
    from harness.reports import harmless

    copies = f", {_count(status.copies, 'further copy', 'further copies')}," if status.copies else ""
    runs, journals = _count(status.runs, "run"), _count(status.journals, "journal")
    typer.echo(f"{_count(status.evaluations, 'evaluation')}{copies} of {runs} in {journals}")
    typer.echo(f"index: {status.path or 'in memory'}")
    for problem in problems:
        typer.echo(harmless(f"{problem.path}:{problem.line}: {problem.what}\n  {problem.remedy}"))
    if not problems:
        typer.echo("every line can be used")


def _count(number: int, one: str, many: str = "") -> str:
    return f"{number} {one if number == 1 else many or one + 's'}"
