"""`harness snapshot`: the accepted evaluations that a gate compares with."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from harness.cli import completion
from harness.cli.options import Results

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from harness.gate.snapshot import Snapshot
    from harness.model.evaluation import Evaluation
    from harness.model.gate import Accepted
    from harness.workspace.workspace import Workspace

snapshot_app = typer.Typer(no_args_is_help=True, help="Accepted evaluations, which git keeps and a gate compares with.")

RunName = Annotated[
    str,
    typer.Option(
        "--run", metavar="ID", help="A run; the beginning of its name is enough.", autocompletion=completion.runs
    ),
]
Output = Annotated[
    Path | None, typer.Option("-o", "--output", help="Default: snapshot.jsonl of the workspace.", show_default=False)
]
Problems = Annotated[
    list[str] | None,
    typer.Option("-p", "--problem", help="A name or pattern; repeatable.", autocompletion=completion.problems),
]
Solutions = Annotated[
    list[str] | None,
    typer.Option("-s", "--solution", help="A name or pattern; repeatable.", autocompletion=completion.solutions),
]
Named = Annotated[
    str | None,
    typer.Option(metavar="FILE|git:REF|run:ID", help="Default: snapshot.jsonl of the workspace.", show_default=False),
]


@snapshot_app.command("accept")
def accept_run(
    run: RunName = "latest",
    problem: Problems = None,
    solution: Solutions = None,
    output: Output = None,
    results: Results = None,
) -> None:
    """Put a run's evaluations into the snapshot, in place of the former ones of the same solution and GPU.

    All must have ended as expected and, on a GPU, be measured well. Solutions that are gone from the workspace leave
    the snapshot, and so do entries of the simulator's for those that need a GPU by now.

    Example: harness snapshot accept --run latest
    """
    from harness.errors import UsageError
    from harness.gate.runs import latest_of_each, read_run
    from harness.gate.snapshot import DEFAULT_FILE, accept, merged, parse, write
    from harness.workspace.workspace import find_workspace

    workspace = find_workspace(Path.cwd())
    found = read_run(results or workspace.results, run)
    for remark in found.remarks:
        typer.echo(f"harness: {remark}", err=True)
    evaluations = _chosen(latest_of_each(found.evaluations), problem or [], solution or [])
    if refused := [
        f"{e.problem.name}/{e.solution.name}: {why}" for e in evaluations if (why := _refusal(e, workspace))
    ]:
        raise UsageError("nothing was accepted, because of\n  " + "\n  ".join(refused))
    path = output or workspace.root / DEFAULT_FILE
    old = parse(path.read_text("utf-8", errors="replace"), str(path)) if path.is_file() else ()
    known = {(p, s) for p in workspace.problem_names() for s in workspace.solution_names(p)}
    not_judged = [evaluation for evaluation in evaluations if _needs_gpu(evaluation, workspace)]
    new = [accept(evaluation) for evaluation in evaluations if evaluation not in not_judged]
    kept = merged(_without(old, not_judged), new, known)
    write(path, kept)
    still = {(entry.problem, entry.solution, entry.device) for entry in kept}
    gone = sum((entry.problem, entry.solution, entry.device) not in still for entry in old)
    typer.echo(f"accepted {len(new)} of run {found.name}; {path.name} holds {len(kept)}, {gone} left it")
    typer.echo(f"next: git add {path.name}, and commit it with the change that it belongs to")


@snapshot_app.command("show")
def show_snapshot(
    snapshot: Named = None,
    results: Results = None,
    json: Annotated[bool, typer.Option("--json", help="The entries as they are kept, one a line.")] = False,
) -> None:
    """List what a snapshot holds. Example: harness snapshot show --snapshot git:origin/main"""
    from harness.gate.snapshot import DEFAULT_FILE, open_snapshot, render
    from harness.workspace.workspace import find_workspace

    workspace = find_workspace(Path.cwd())
    found: Snapshot | None = open_snapshot(snapshot, workspace.root, results or workspace.results)
    if found is None:
        from harness.errors import UsageError

        raise UsageError(f"no {DEFAULT_FILE} in {workspace.root}; make one with 'harness snapshot accept'")
    if json:
        typer.echo(render(found.accepted), nl=False)
        return
    from rich.console import Console

    from harness.reports import snapshot_table

    Console().print(snapshot_table(found.accepted))


def _chosen(
    evaluations: Sequence[Evaluation], problems: Sequence[str], solutions: Sequence[str]
) -> Sequence[Evaluation]:
    """Raises: UsageError where the patterns leave nothing."""
    from harness.errors import UsageError
    from harness.workspace.selection import fits

    chosen = [e for e in evaluations if fits(e.problem.name, problems) and fits(e.solution.name, solutions)]
    if not chosen:
        names = ", ".join(f"{e.problem.name}/{e.solution.name}" for e in evaluations[:8])
        raise UsageError(f"nothing in this run fits --problem and --solution; it holds {names}")
    return chosen


def _needs_gpu(evaluation: Evaluation, workspace: Workspace) -> bool:
    """Whether there is nothing to accept, since it needs a GPU and had none, or another one."""
    from harness.model.verdict import Verdict

    (now,) = workspace.solutions(evaluation.problem.name, [evaluation.solution.name])
    elsewhere = now.about.needs_gpu or not now.about.runs_on(evaluation.environment.compute_capability)
    return evaluation.verdict is Verdict.UNSUPPORTED and elsewhere


def _without(old: Iterable[Accepted], not_judged: Sequence[Evaluation]) -> list[Accepted]:
    """What was accepted of them on the same device goes: they can't be judged there any more."""
    from harness.model.gate import device_of

    gone = {(e.problem.name, e.solution.name, device_of(e.environment)) for e in not_judged}
    return [entry for entry in old if (entry.problem, entry.solution, entry.device) not in gone]


def _refusal(evaluation: Evaluation, workspace: Workspace) -> str | None:
    """Why an evaluation is nothing to compare with; None where it is."""
    from harness.gate.finished import left_out

    about, problem = evaluation.solution, evaluation.problem
    if evaluation.verdict is not about.expected_verdict:
        return f"{evaluation.verdict.value}, expected {about.expected_verdict.value}"
    if about.name not in workspace.solution_names(problem.name) or problem.name not in workspace.problem_names():
        return "it is gone from the workspace"
    (now,), problem_now = workspace.solutions(problem.name, [about.name]), workspace.problem(problem.name)
    if (problem_now.sha256, now.sha256) != (problem.sha256, about.sha256):
        return "it was edited after it was evaluated; run it again"
    if missed := left_out(evaluation, problem_now):
        return f"{missed}; run it again with all cases"
    if evaluation.verdict.passed and evaluation.environment.backend == "cuda":
        return evaluation.timing.noise if evaluation.timing else "it was not timed"
    return None
