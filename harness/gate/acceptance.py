"""Accepting a run: its evaluations become what later gates compare with."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.errors import UsageError
from harness.gate.evaluations import left_out
from harness.gate.runs import latest_of_each, read_run
from harness.gate.snapshot import SNAPSHOT_FILE, accept, merged, parse, write
from harness.model.evaluation import Evaluation
from harness.model.gate import Accepted, device_of
from harness.model.verdict import Verdict
from harness.workspace.selection import fits
from harness.workspace.workspace import Workspace


@dataclass(frozen=True)
class Acceptance:
    """The result: `accepted` entries of `run` are new in the file at `path`, `gone` left it, `kept` are in it."""

    run: str
    accepted: int
    gone: int
    kept: int
    path: Path
    remarks: tuple[str, ...]


def accept_run(
    workspace: Workspace,
    run: str,
    results: Path,
    output: Path | None,
    problems: Sequence[str] = (),
    solutions: Sequence[str] = (),
) -> Acceptance:
    """Write a run's evaluations into the snapshot at `output`, by default the workspace's.

    Raises: UsageError where one isn't fit to be compared with, and then nothing is written; JournalError.
    """
    found = read_run(results, run)
    evaluations = _chosen(latest_of_each(found.evaluations), problems, solutions)
    if refused := [
        f"{e.problem.name}/{e.solution.name}: {why}" for e in evaluations if (why := _refusal(e, workspace))
    ]:
        raise UsageError("nothing was accepted, because of\n  " + "\n  ".join(refused))
    path = output or workspace.root / SNAPSHOT_FILE
    old = parse(path.read_text("utf-8", errors="replace"), str(path)) if path.is_file() else ()
    known = {(p, s) for p in workspace.problem_names() for s in workspace.solution_names(p)}
    not_judged = [evaluation for evaluation in evaluations if _needs_gpu(evaluation, workspace)]
    new = [accept(evaluation) for evaluation in evaluations if evaluation not in not_judged]
    kept = merged(_without(old, not_judged), new, known)
    write(path, kept)
    still = {(entry.problem, entry.solution, entry.device) for entry in kept}
    gone = sum((entry.problem, entry.solution, entry.device) not in still for entry in old)
    return Acceptance(found.name, len(new), gone, len(kept), path, found.remarks)


def _chosen(
    evaluations: Sequence[Evaluation], problems: Sequence[str], solutions: Sequence[str]
) -> Sequence[Evaluation]:
    """Evaluations that the patterns name. Raises: UsageError where they leave nothing."""
    chosen = [e for e in evaluations if fits(e.problem.name, problems) and fits(e.solution.name, solutions)]
    if not chosen:
        names = ", ".join(f"{e.problem.name}/{e.solution.name}" for e in evaluations[:8])
        raise UsageError(f"nothing in this run fits --problem and --solution; it holds {names}")
    return chosen


def _needs_gpu(evaluation: Evaluation, workspace: Workspace) -> bool:
    """True where there is nothing to accept, since it needs a GPU and had none, or another one."""
    (now,) = workspace.solutions(evaluation.problem.name, [evaluation.solution.name])
    elsewhere = now.about.needs_gpu or not now.about.runs_on(evaluation.environment.compute_capability)
    return evaluation.verdict is Verdict.UNSUPPORTED and elsewhere


def _without(old: Iterable[Accepted], not_judged: Sequence[Evaluation]) -> list[Accepted]:
    """Remove what was accepted of them on the same device: they can't be judged there any more."""
    gone = {(e.problem.name, e.solution.name, device_of(e.environment)) for e in not_judged}
    return [entry for entry in old if (entry.problem, entry.solution, entry.device) not in gone]


def _refusal(evaluation: Evaluation, workspace: Workspace) -> str | None:
    """Say why an evaluation is nothing to compare with; None where it is."""
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
