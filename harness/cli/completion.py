"""Completions after a Tab: names of the workspace, and identifiers of results. None imports torch."""

from __future__ import annotations

import itertools
from pathlib import Path

import typer

import harness
from harness import reports
from harness.errors import HarnessError
from harness.model.arms import BASELINES

_MOST = 200
"""Identifiers that are offered at most, the newest first: a shell shows no more in a useful way."""


def problems(context: typer.Context, incomplete: str) -> list[str]:
    return _starting(_workspace(context).problem_names(), incomplete)


def solutions(context: typer.Context, incomplete: str) -> list[str]:
    """Names that belong to the problems on the line, else all."""
    workspace = _workspace(context)
    words = _given(context, "problem") + _given(context, "evaluation")
    named = [name for name in words if name in workspace.problem_names()]
    found = {solution for name in named or workspace.problem_names() for solution in workspace.solution_names(name)}
    return _starting(found, incomplete)


def problems_then_solutions(context: typer.Context, incomplete: str) -> list[str]:
    """Complete `harness run PROBLEM SOLUTION…`."""
    if words := _given(context, "what"):
        return _starting(_workspace(context).solution_names(words[0]), incomplete)
    return problems(context, incomplete)


def cases(context: typer.Context, incomplete: str) -> list[str]:
    """Names that belong to the problems on the line, else all."""
    workspace = _workspace(context)
    found: set[str] = set()
    for name in _given(context, "what")[:1] or _given(context, "problem") or workspace.problem_names():
        try:
            found.update(workspace.problem(name).cases)
        except HarnessError:  # a broken problem offers nothing; a command that uses it will say why
            continue
    return _starting(found, incomplete)


def configs(context: typer.Context, incomplete: str) -> list[str]:
    return _starting(_workspace(context).config_names(), incomplete)


def baselines(incomplete: str) -> list[str]:
    """Offer another one behind those that the word holds already."""
    before, comma, last = incomplete.rpartition(",")
    left = [name for name in BASELINES if name not in before.split(",")]
    return [before + comma + name for name in left if name.startswith(last)]


def runs(context: typer.Context, incomplete: str) -> list[str]:
    """The newest first: a run's name begins with its time."""
    names = sorted({path.parent.name for path in _results(context).glob("*/*.jsonl")}, reverse=True)
    return [name for name in names if name.startswith(incomplete)][:_MOST]


def evaluations(context: typer.Context, incomplete: str) -> list[tuple[str, str]]:
    """Identifiers, the newest first, each with what it was."""
    folder = _results(context)
    if not folder.is_dir():
        return []
    from harness.store.index import open_index

    try:
        with open_index(folder) as index:
            entries = reversed(index.entries())
            fitting = (entry for entry in entries if entry.id.startswith(incomplete))
            return [(e.id, f"{e.problem}/{e.solution} {e.verdict.value}") for e in itertools.islice(fitting, _MOST)]
    except HarnessError:
        return []


def problems_and_evaluations(context: typer.Context, incomplete: str) -> list[tuple[str, str]]:
    """Complete what names evaluations."""
    return [(name, "problem") for name in problems(context, incomplete)] + evaluations(context, incomplete)


def explained_words(incomplete: str) -> list[str]:
    """Verdicts, checks and the words of a timing."""
    return _starting(list(reports.everything_explained()), incomplete)


def _workspace(context: typer.Context) -> harness.Workspace:
    """The one that the line names or stands in; where there is none, one with nothing in it."""
    start = Path(context.find_root().params.get("workspace") or Path.cwd()).absolute()
    try:
        return harness.find_workspace(start)
    except HarnessError:
        return harness.Workspace(start)


def _results(context: typer.Context) -> Path:
    chosen = context.params.get("results")
    return Path(chosen) if chosen else _workspace(context).results


def _given(context: typer.Context, parameter: str) -> list[str]:
    """Return what the line says for a parameter so far: one value, several, or none."""
    value = context.params.get(parameter)
    return [] if value is None else [value] if isinstance(value, str) else [str(item) for item in value]


def _starting(names: set[str] | list[str], incomplete: str) -> list[str]:
    return sorted(name for name in names if name.startswith(incomplete))
