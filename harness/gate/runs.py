"""The evaluations of one run, from its journals."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from harness.errors import JournalError, UsageError
from harness.model.evaluation import Evaluation
from harness.store.journal import scan_journals
from harness.suggest import did_you_mean
from harness.workspace.problem import Problem


@dataclass(frozen=True)
class GateRun:
    """Evaluations are sorted by time, each id stands once. `remarks` tell of the lines that hold none."""

    name: str
    evaluations: tuple[Evaluation, ...]
    remarks: tuple[str, ...] = ()


def read_run(results: Path, name: str) -> GateRun:
    """Read what a run's journals hold; `name` may be 'latest', or the unique beginning of a name.

    Raises: UsageError where no run, or several, have that name, or it holds no evaluation; JournalError where a file
    can't be read.
    """
    run = _run_name(results, name)
    evaluations: list[Evaluation] = []
    remarks: list[str] = []
    try:
        for found in scan_journals(sorted((results / run).glob("*.jsonl"))):
            if isinstance(found, Evaluation):
                evaluations.append(found)
            else:
                remarks.append(str(replace(found, path=found.path.relative_to(results))))
    except OSError as error:
        raise JournalError(f"can't read {error.filename}: {error.strerror}") from None
    if not evaluations:
        raise UsageError("; ".join([f"the run in {results / run} holds no result", *remarks[:1]]))
    return GateRun(run, tuple(sorted(evaluations, key=lambda evaluation: evaluation.started_at)), tuple(remarks))


def latest_of_each(evaluations: Iterable[Evaluation]) -> list[Evaluation]:
    """The last evaluation of each solution, in the order of names."""
    latest = {(e.problem.name, e.solution.name): e for e in sorted(evaluations, key=lambda e: e.started_at)}
    return [latest[key] for key in sorted(latest)]


def left_out(evaluation: Evaluation, problem: Problem) -> str | None:
    """Says on which of the problem's cases an evaluation wasn't made; None where it was on all."""
    if missed := [name for name in problem.cases if name not in evaluation.cases]:
        return f"it was evaluated on {', '.join(evaluation.cases)} alone, without {', '.join(missed)}"
    return None


def _written_ns(run: Path) -> int:
    return max(journal.stat().st_mtime_ns for journal in run.glob("*.jsonl"))


def _run_name(results: Path, name: str) -> str:
    runs = sorted(path.name for path in results.glob("*") if next(path.glob("*.jsonl"), None))
    if not runs:
        raise UsageError(f"no run in {results}: make one with 'harness run' or 'harness compare'")
    if name in ("latest", "last"):  # a run's name begins with its time, in seconds
        return max(runs, key=lambda run: (run[:1].isdigit(), run.partition("-")[0], _written_ns(results / run)))
    matching = [run for run in runs if run == name] or [run for run in runs if name and run.startswith(name)]
    if len(matching) > 1:
        raise UsageError(f"'{name}' is the beginning of {len(matching)} runs: {', '.join(matching[:5])}")
    if not matching:
        raise UsageError(f"no run '{name}' in {results}.{did_you_mean(name, runs[-20:])}")
    return matching[0]
