"""Reading journals: whole lines with their places, and what can't be read, said aloud."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from harness.model.evaluation import Evaluation
from harness.store.line import NoRecord, from_line


@dataclass(frozen=True)
class JournalProblem:
    """A line that can't be used: where it is, what is wrong with it, and what to do."""

    path: Path
    line: int
    """Counted from 1."""
    what: str
    remedy: str
    is_harmless: bool = False
    """A line that was never acknowledged: nothing is missing."""

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.what}; {self.remedy}"


@dataclass(frozen=True)
class JournalLine:
    """The bytes of a line with their place."""

    offset: int
    number: int
    """Counted from 1."""
    data: bytes

    @property
    def is_whole(self) -> bool:
        return self.data.endswith(b"\n")

    @property
    def digest(self) -> bytes:
        """Equal for equal lines."""
        return hashlib.blake2b(self.data.rstrip(), digest_size=8).digest()


def journal_files(results: Path) -> list[Path]:
    """Every journal below `results`, at any depth; a file directly in it is none. Sorted.

    Links to folders are followed, each folder is entered once.
    """
    found: list[Path] = []
    entered: set[str] = set()
    for folder, folders, names in os.walk(results, followlinks=True):
        if (real := os.path.realpath(folder)) in entered:
            folders.clear()
            continue
        entered.add(real)
        folders.sort()
        if Path(folder) != results:
            found += [Path(folder, name) for name in names if name.endswith(".jsonl")]
    return sorted(found)


def read_lines(path: Path, offset: int = 0, number: int = 1) -> Iterator[JournalLine]:
    """Lines from `offset` on, where line `number` starts; blank ones are left out."""
    with path.open("rb") as file:
        file.seek(offset)
        for data in file:
            if data.strip():
                yield JournalLine(offset, number, data)
            if not data.endswith(b"\n"):
                return  # were its writer still at it, its rest would come next and pass for a line
            offset += len(data)
            number += 1


def read_journals(results: Path) -> Iterator[Evaluation]:
    """Every readable evaluation under `results`, each id once; scan_journals() also tells of the other lines."""
    return (found for found in scan_journals(results) if isinstance(found, Evaluation))


def scan_journals(results: Path) -> Iterator[Evaluation | JournalProblem]:
    """Every evaluation, each id once, and every line that holds none, in the order of files and lines."""
    seen: dict[str, bytes] = {}
    for path in journal_files(results):
        for line in read_lines(path):
            try:
                evaluation = from_line(line.data)
            except NoRecord as error:
                yield unreadable(path, line, error)
                continue
            if evaluation.id not in seen:
                seen[evaluation.id] = line.digest
                yield evaluation
            elif seen[evaluation.id] != line.digest:
                yield contradiction(path, line.number, evaluation.id)


def unreadable(path: Path, line: JournalLine, error: NoRecord) -> JournalProblem:
    """What to say of a line that is no evaluation."""
    if not line.is_whole:
        what = f"an unfinished line of {len(line.data)} bytes: its writer was stopped, or is writing now"
        return JournalProblem(path, line.number, what, "nothing to do: it was never reported as kept", True)
    if str(error).startswith("not JSON"):
        remedy = "if a result is missing, restore the file from a copy; else nothing to do"
        return JournalProblem(path, line.number, "a torn or damaged line", remedy)
    return JournalProblem(path, line.number, str(error), "its evaluation doesn't count until that is done")


def contradiction(path: Path, line: int, evaluation_id: str) -> JournalProblem:
    """What to say of a second line for an id that says something else than the first."""
    what = f"evaluation {evaluation_id} stands elsewhere with another content, which counts"
    return JournalProblem(path, line, what, "remove the copy that was edited, then 'harness index --rebuild'")
