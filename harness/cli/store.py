"""The results folder and its index, for all commands that read results; `harness index` says what they hold."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import harness
from harness import reports
from harness.cli import exit_codes
from harness.cli.options import JsonFlag, ResultsFolder
from harness.cli.printing import print_json, say
from harness.errors import UsageError
from harness.model.plural import several
from harness.suggest import did_you_mean

if TYPE_CHECKING:
    from harness.store.entry import Entry
    from harness.store.index import Index, IndexStatus
    from harness.store.journal import JournalProblem


def results_folder(results: Path | None) -> Path:
    """The one asked for, else the workspace's, else results/ here. Raises: UsageError where there is none."""
    here = Path.cwd() / "results"
    if results is None:
        try:
            results = harness.find_workspace().results
        except UsageError:
            if not here.is_dir():
                raise
            results = here
    if not results.is_dir():
        raise UsageError(f"no folder {results} yet: make results with 'harness run', or name --results")
    return results


def open_store(results: Path | None, rebuild: bool = False) -> Index:
    """The index of results_folder(), which says on stderr what takes long or was repaired."""
    from harness.store.index import open_index

    return open_index(results_folder(results), rebuild=rebuild, say=say)


def chosen_entries(
    index: Index,
    problem: str | None,
    solution: str | None,
    *,
    run: str | None = None,
    backend: str | None = None,
) -> Sequence[Entry]:
    """Choose entries, oldest first. Raises: UsageError, with a suggestion, where nothing fits."""
    found = index.entries(problem=problem, solution=solution, run=run, backend=backend)
    if found:
        return found
    every = index.entries()
    if not every:
        raise UsageError(f"no evaluation in {index.results} yet: make one with 'harness run'")
    of_problem = [entry for entry in every if problem in (None, entry.problem)]
    if not of_problem:
        names = {entry.problem for entry in every}
        raise UsageError(f"no evaluation of problem '{problem}'.{did_you_mean(problem or '', names)}")
    solutions = {entry.solution for entry in of_problem}
    if solution is not None and solution not in solutions:
        raise UsageError(f"no evaluation of solution '{solution}'.{did_you_mean(solution, solutions)}")
    if run is not None and run not in (runs := {entry.run for entry in every}):
        raise UsageError(f"no run '{run}' in {index.results}.{did_you_mean(run, runs)}")
    raise UsageError(f"no evaluation in {index.results} fits all that was asked for; ask for less")


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
    say(f"{several(merged.copied, 'evaluation')} taken over from {source}, {merged.known} were here before")
    for problem in merged.problems:
        say(str(problem))


def _verified(folder: Path) -> tuple[JournalProblem, ...]:
    from harness.store.journal import JournalProblem, journal_files, scan_journals

    return tuple(found for found in scan_journals(journal_files(folder)) if isinstance(found, JournalProblem))


def _as_json(status: IndexStatus, problems: tuple[JournalProblem, ...]) -> dict[str, object]:
    counts = {name: getattr(status, name) for name in ("journals", "runs", "evaluations", "copies")}
    faults = [{"file": str(one.path), "line": one.line, "what": one.what, "remedy": one.remedy} for one in problems]
    return {"index": str(status.path) if status.path else None, **counts, "problems": faults}


def _print(status: IndexStatus, problems: tuple[JournalProblem, ...]) -> None:
    copies = f", {several(status.copies, 'further copy', 'further copies')}," if status.copies else ""
    of = f"{several(status.runs, 'run')} in {several(status.journals, 'journal')}"
    typer.echo(f"{several(status.evaluations, 'evaluation')}{copies} of {of}")
    typer.echo(f"index: {status.path or 'in memory'}")
    for problem in problems:
        typer.echo(reports.harmless(f"{problem.path}:{problem.line}: {problem.what}\n  {problem.remedy}"))
    if not problems:
        typer.echo("every line can be used")
