"""`harness list` and `harness prompt`: what the workspace holds, and a problem as a task for a language model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from harness.cli.options import JsonFlag, ProblemName
from harness.cli.printing import print_json, say
from harness.errors import InvalidFile

if TYPE_CHECKING:
    from harness.store.index import Index
    from harness.workspace.workspace import Workspace


def list_workspace(
    problem: Annotated[str | None, typer.Argument(help="Only this problem.", show_default=False)] = None,
    json: JsonFlag = False,
) -> None:
    """List problems, their cases and solutions, and each solution's last verdict."""
    from harness.store.index import open_index
    from harness.workspace.workspace import find_workspace

    workspace = find_workspace(Path.cwd())
    names = workspace.problem_names() if problem is None else [workspace.problem(problem).name]
    with open_index(workspace.results, say=say) as index:
        listing = [_entry(workspace, name, index) for name in names]
    if json:
        print_json({"problems": listing}, indent=2)
    else:
        _print(listing)


def prompt(problem: ProblemName) -> None:
    """Print a problem as a task for a language model: rules, cases, the reference.

    Example: harness prompt level1_26_GELU_
    """
    from harness.reports import prompt_text
    from harness.workspace.workspace import find_workspace

    found = find_workspace(Path.cwd()).problem(problem)
    text = prompt_text(found.title, found.source, found.precision, list(found.cases), found.description)
    typer.echo(text, nl=False)


def _entry(workspace: Workspace, name: str, index: Index) -> dict[str, Any]:
    solutions = [_solution(name, solution, index) for solution in workspace.solution_names(name)]
    try:
        problem = workspace.problem(name)
    except InvalidFile as error:  # one broken file hides nothing else
        return {"name": name, "error": str(error), "solutions": solutions}
    return {
        "name": name,
        "title": problem.title,
        "tags": list(problem.tags),
        "precision": problem.precision,
        "cases": list(problem.cases),
        "solutions": solutions,
    }


def _solution(problem: str, name: str, index: Index) -> dict[str, Any]:
    last = index.latest(problem, name)
    if last is None:
        return {"name": name, "last_verdict": None}
    return {
        "name": name,
        "last_verdict": last.verdict.value,
        "backend": last.backend,
        "at": last.started_at,
        "evaluation": last.id,
    }


def _print(listing: list[dict[str, Any]]) -> None:
    from rich.console import Console
    from rich.padding import Padding
    from rich.text import Text

    from harness.reports import one_line

    console = Console()
    for entry in listing:
        about = f"  {one_line(entry['title'])} ({entry['precision']})" if "title" in entry else "  broken"
        console.print(Text.assemble((entry["name"], "bold"), about))
        detail = f"cases: {', '.join(entry['cases'])}" if "cases" in entry else entry["error"]
        console.print(Padding(Text(one_line(detail), style="dim"), (0, 0, 0, 2)))
        for solution in entry["solutions"] or [{"name": "(no solution)", "last_verdict": ""}]:
            verdict = "never run" if solution["last_verdict"] is None else solution["last_verdict"]
            where = f" on {solution['backend']}, {solution['at'][:16]}" if "backend" in solution else ""
            console.print(Text(f"  {solution['name']:<24} {verdict}{where}"))
    if not listing:
        console.print("no problems yet: make one with problems/<name>/problem.py")
