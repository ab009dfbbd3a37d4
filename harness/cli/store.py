"""The results folder and its index, for all commands that read results."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from harness.cli.printing import say
from harness.errors import UsageError

if TYPE_CHECKING:
    from harness.store.entry import Entry
    from harness.store.index import Index


def results_folder(results: Path | None) -> Path:
    """The one asked for, else the workspace's, else results/ here. Raises: UsageError where there is none."""
    from harness.workspace.workspace import find_workspace

    here = Path.cwd() / "results"
    if results is None:
        try:
            results = find_workspace(Path.cwd()).results
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
    from harness.suggest import did_you_mean

    found = index.entries(problem=problem, solution=solution, run=run, backend=backend)
    if found:
        return found
    every = index.entries()
    if not every:
        raise UsageError(f"no evaluation in {index.results} yet: make one with 'harness run'")
    of_problem = [entry for entry in every if problem in (None, entry.problem)]
    if not of_problem:
        raise UsageError(f"no evaluation of problem '{problem}'.{did_you_mean(problem or '', _names(every))}")
    solutions = {entry.solution for entry in of_problem}
    if solution is not None and solution not in solutions:
        raise UsageError(f"no evaluation of solution '{solution}'.{did_you_mean(solution, solutions)}")
    if run is not None and run not in (runs := {entry.run for entry in every}):
        raise UsageError(f"no run '{run}' in {index.results}.{did_you_mean(run, runs)}")
    raise UsageError(f"no evaluation in {index.results} fits all that was asked for; ask for less")


def _names(entries: Sequence[Entry]) -> set[str]:
    return {entry.problem for entry in entries}
