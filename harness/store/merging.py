"""The merging of another machine's journals into ours."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from harness.errors import UsageError
from harness.store.journal import JournalLine, JournalProblem, append_lines, journal_files, read_lines, unreadable
from harness.store.line import NoRecord, outline_from_line

_LINES_A_SYNC = 500


@dataclass(frozen=True)
class Merged:
    """The outcome of a merge. `copied` evaluations were new here, `known` were here before; `problems` couldn't be read
    and stay there."""

    copied: int
    known: int
    problems: tuple[JournalProblem, ...]


def merge_journals(source: Path, results: Path, known: set[str]) -> Merged:
    """Append, line by line as it is, every evaluation below `source` whose id isn't among the `known` ones.

    Each goes to its own run's folder in `results`; nothing that is there is overwritten. Done twice, the second time
    copies nothing. Raises: UsageError where there is no journal in `source`; JournalError.
    """
    if source.resolve() == results.resolve():
        raise UsageError(f"{source} is the folder to merge into: name another machine's results")
    files = [*sorted(source.glob("*.jsonl")), *journal_files(source)]
    if not files:
        raise UsageError(f"no journal in {source}: a results folder holds <run>/<environment>.jsonl")
    seen, copied, again = set(known), 0, 0
    problems: list[JournalProblem] = []
    for path in files:
        waiting: dict[Path, list[bytes]] = {}
        for evaluation_id, run, line in _evaluations(path, problems):
            if evaluation_id in seen:
                again += 1
                continue
            seen.add(evaluation_id)
            copied += 1
            lines = waiting.setdefault(results / run / path.name, [])
            lines.append(line.data.rstrip(b"\n"))
            if len(lines) == _LINES_A_SYNC:
                append_lines(results / run / path.name, lines)
                lines.clear()
        for target, lines in waiting.items():
            if lines:
                append_lines(target, lines)
    return Merged(copied, again, tuple(problems))


def _evaluations(path: Path, problems: list[JournalProblem]) -> Iterator[tuple[str, str, JournalLine]]:
    """Yield id, run and line; what can't be read goes to `problems`."""
    for line in read_lines(path):
        try:
            evaluation = outline_from_line(line.data)
        except NoRecord as error:
            problems.append(unreadable(path, line, error))
            continue
        run = evaluation.run
        if not run or Path(run).name != run or run.startswith("."):  # it becomes a folder's name
            problems.append(JournalProblem(path, line.number, f"{run!r} can't name a run's folder", "not taken over"))
            continue
        yield evaluation.id, run, line
