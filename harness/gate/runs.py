"""The evaluations of one run, from its journals."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from harness.errors import JournalError, UsageError
from harness.model.evaluation import Evaluation
from harness.store.journal import JournalProblem, contradiction, read_lines, unreadable
from harness.store.line import NoRecord, from_line
from harness.suggest import did_you_mean


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
    found: dict[str, tuple[Evaluation, bytes]] = {}
    problems: list[JournalProblem] = []
    for path in sorted((results / run).glob("*.jsonl")):
        try:
            problems += _read(path, found)
        except OSError as error:
            raise JournalError(f"can't read {path}: {error.strerror}") from None
    remarks = tuple(str(replace(problem, path=problem.path.relative_to(results))) for problem in problems)
    if not found:
        raise UsageError("; ".join([f"the run in {results / run} holds no result", *remarks[:1]]))
    evaluations = sorted((one for one, _ in found.values()), key=lambda evaluation: evaluation.started_at)
    return GateRun(run, tuple(evaluations), remarks)


def latest_of_each(evaluations: Iterable[Evaluation]) -> list[Evaluation]:
    """The last evaluation of each solution, in the order of names."""
    latest = {(e.problem.name, e.solution.name): e for e in sorted(evaluations, key=lambda e: e.started_at)}
    return [latest[key] for key in sorted(latest)]


def _read(path: Path, found: dict[str, tuple[Evaluation, bytes]]) -> list[JournalProblem]:
    """Add to `found`; return what is no evaluation, or says something else than one before."""
    problems = []
    for line in read_lines(path):
        try:
            evaluation = from_line(line.data)
        except NoRecord as error:
            problems.append(unreadable(path, line, error))
            continue
        _, digest = found.setdefault(evaluation.id, (evaluation, line.digest))
        if digest != line.digest:
            problems.append(contradiction(path, line.number, evaluation.id))
    return problems


def _run_name(results: Path, name: str) -> str:
    runs = sorted(path.name for path in results.glob("*") if next(path.glob("*.jsonl"), None))
    if not runs:
        raise UsageError(f"no run in {results}: make one with 'harness run' or 'harness compare'")
    if name == "latest":  # a run's name begins with its time
        return max(runs, key=lambda run: (run[:1].isdigit(), run))
    matching = [run for run in runs if run == name] or [run for run in runs if name and run.startswith(name)]
    if len(matching) > 1:
        raise UsageError(f"'{name}' is the beginning of {len(matching)} runs: {', '.join(matching[:5])}")
    if not matching:
        raise UsageError(f"no run '{name}' in {results}.{did_you_mean(name, runs[-20:])}")
    return matching[0]
