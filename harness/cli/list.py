"""`harness list`, `check`, `prompt`: what a workspace holds, its faults, a problem as a language model's task."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

import harness
from harness import gate, integrations, reports, tools
from harness.cli import completion, exit_codes
from harness.cli.options import JsonFlag, ProblemName
from harness.cli.printing import print_json, print_report, say
from harness.errors import InvalidFile
from harness.model.plural import several

if TYPE_CHECKING:
    from harness.store.entry import Entry
    from harness.store.index import Index


SomeProblems = Annotated[
    list[str] | None,
    typer.Argument(help="Names or patterns. Default: all.", metavar="[PROBLEM]…", autocompletion=completion.problems),
]


def list_workspace(
    problem: SomeProblems = None,
    failed: Annotated[
        bool, typer.Option("--failed", help="Only solutions whose last verdict is not the expected one.")
    ] = False,
    json: JsonFlag = False,
) -> None:
    """List problems, their cases and solutions, and each solution's last verdict.

    Example: harness list 'conv2d_*' --failed
    """
    from harness.store.index import open_index
    from harness.workspace.selection import select_problems

    workspace = harness.find_workspace()
    names = select_problems(workspace, problem) if problem else workspace.problem_names()
    with open_index(workspace.results, say=say) as index:
        listing = [_entry(workspace, name, index, failed) for name in names]
    if failed:
        listing = [entry for entry in listing if entry["solutions"]]
    if json:
        print_json({"problems": listing}, indent=2)
    else:
        _print(listing, "nothing failed last" if failed else "no problems yet: 'harness new problem' makes one")


def check(problem: SomeProblems = None, json: JsonFlag = False) -> None:
    """Read every problem, solution and config, and gate.yaml: list what is wrong. Exit code 2 where something is.

    Of problems that are named, only they and their solutions are read. Cases are made without memory, by problem.py.

    Nothing is evaluated: `harness check-problem` judges problems, `harness run` solutions.
    """
    from harness.workspace.selection import faults_of, select_problems

    workspace = harness.find_workspace()
    names = select_problems(workspace, problem) if problem else workspace.problem_names()
    found = faults_of(workspace, names if problem else None) + _unfit_cases(workspace, names)
    if not problem:
        try:
            gate.load_policy(None, workspace.root)
        except InvalidFile as error:
            found.append(error)
    faults = [words.replace(f"{workspace.root}/", "") for fault in found for words in fault.faults]
    if json:
        print_json({"faults": faults})
    else:
        count = several(sum(len(workspace.solution_names(name)) for name in names), "solution")
        whole = f"nothing is wrong in the files of {several(len(names), 'problem')} and {count}; none was judged"
        for line in map(reports.one_line, faults or [whole]):
            typer.echo(line)
    if faults:
        raise typer.Exit(exit_codes.USAGE)


def _unfit_cases(workspace: harness.Workspace, names: Sequence[str]) -> list[InvalidFile]:
    """Say which cases can't be made; torch is imported where there is one besides 'full'."""
    with_cases = []
    for name in names:
        with contextlib.suppress(InvalidFile):  # its fault is told already
            if len((problem := workspace.problem(name)).cases) > 1:
                with_cases.append(problem)
    if not with_cases:
        return []
    from rich.console import Console

    with Console(stderr=True).status("importing torch"):
        return [fault for problem in with_cases for fault in tools.unfit_cases(problem)]


def prompt(problem: ProblemName) -> None:
    """Print a problem as a task for a language model: rules, cases, the reference.

    Example: harness prompt level1_26_GELU_
    """
    typer.echo(integrations.task_of(harness.find_workspace().problem(problem)), nl=False)


def _entry(workspace: harness.Workspace, name: str, index: Index, failed: bool) -> dict[str, Any]:
    entries: dict[str, list[Entry]] = {}
    for entry in index.entries(problem=name):
        entries.setdefault(entry.solution, []).append(entry)
    solutions = []
    for solution in workspace.solution_names(name):
        last = entries[solution][-1] if solution in entries else None
        fault = index.sanitized_fault(entries[solution]) if last else None
        if not failed or (last and (fault or last).verdict is not last.expected_verdict):
            solutions.append(_solution(solution, last, fault))
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


def _solution(name: str, last: Entry | None, fault: Entry | None) -> dict[str, Any]:
    if last is None:
        return {"name": name, "last_verdict": None}
    sanitized = {"sanitized": {"verdict": fault.verdict.value, "evaluation": fault.id}} if fault else {}
    return {
        "name": name,
        "last_verdict": last.verdict.value,
        "backend": last.backend,
        "at": last.started_at,
        "evaluation": last.id,
        **sanitized,
    }


def _print(listing: list[dict[str, Any]], nothing: str) -> None:
    from rich.console import Group, RenderableType
    from rich.padding import Padding
    from rich.text import Text

    lines: list[RenderableType] = []
    for entry in listing:
        precision = f" ({entry['precision']})" if entry.get("precision") else ""
        about = f"  {reports.one_line(entry['title'])}{precision}" if "title" in entry else "  broken"
        lines.append(Text.assemble((entry["name"], "bold"), about))
        detail = f"cases: {', '.join(entry['cases'])}" if "cases" in entry else entry["error"]
        lines.append(Padding(Text(reports.one_line(detail), style="dim"), (0, 0, 0, 2), expand=False))
        rows = []
        for solution in entry["solutions"] or [{"name": "(no solution)", "last_verdict": ""}]:
            verdict = "never run" if solution["last_verdict"] is None else solution["last_verdict"]
            where = f" on {solution['backend']}, {solution['at'][:16]}" if "backend" in solution else ""
            fault = f"; --sanitize found {solution['sanitized']['verdict']}" if "sanitized" in solution else ""
            rows.append(f"  {solution['name']:<24} {verdict}{where}{fault}")
        lines.append(Text("\n".join(rows)))
    print_report(Group(*lines) if lines else nothing)
