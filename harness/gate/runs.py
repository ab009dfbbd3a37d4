"""The evaluations of one run, from its journals."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from harness.codec import CodecError
from harness.errors import JournalError, UsageError
from harness.records.evaluation import Evaluation
from harness.records.journal import from_line
from harness.suggest import did_you_mean


def read_run(results: Path, name: str) -> list[Evaluation]:
    """The whole evaluations of a run, oldest first; `name` may be 'latest', or the unique beginning of a name.

    Lines that are no evaluation, such as a torn last one, are passed over: what they held is missing.

    Raises: UsageError where no run, or several, have that name; JournalError where a file can't be read.
    """
    folder = results / _run_name(results, name)
    evaluations = []
    for path in sorted(folder.glob("*.jsonl")):
        try:
            lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError as error:
            raise JournalError(f"can't read {path}: {error.strerror}") from None
        for line in lines:
            try:
                evaluations.append(from_line(line))
            except CodecError:
                continue
    if not evaluations:
        raise UsageError(f"the run in {folder} holds no result")
    return sorted(evaluations, key=lambda evaluation: evaluation.started_at)


def latest_of_each(evaluations: Iterable[Evaluation]) -> list[Evaluation]:
    """Of each solution the last, in the order of names."""
    latest = {(e.problem.name, e.solution.name): e for e in sorted(evaluations, key=lambda e: e.started_at)}
    return [latest[key] for key in sorted(latest)]


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
