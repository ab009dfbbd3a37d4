"""The journal: JSON lines, appended and synced, never rewritten; and read, where what can't be read is named."""

from __future__ import annotations

import fcntl
import hashlib
import io
import os
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from harness.errors import JournalError, refused
from harness.model.evaluation import Evaluation, without_source
from harness.plain_file import open_plain
from harness.store.line import NoRecord, from_line, to_line

LONGEST_LINE = 2**26
"""The most bytes of a line: more than a record has with all the texts that it keeps."""


class Journal:
    """The append-only files of one run, under results/<run>/, one per environment.

    Several processes may append to the same file: a lock on it lets one write at a time. Without `keeps_source` the
    solutions' texts aren't written.
    """

    def __init__(self, results: Path, run: str, keeps_source: bool = True) -> None:
        self.folder = results / run
        self._keeps_source = keeps_source

    def require_writable(self) -> None:
        """Check that the folder can be written, before work is done whose result couldn't be kept. Raises:
        JournalError."""
        results = self.folder.parent
        with refused(JournalError, f"can't write into {results}", "choose another --results"):
            results.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=results) as file:
                file.write(b"\n")

    def append(self, evaluation: Evaluation) -> Path:
        """Write one evaluation and wait until it is on the disk; returns its file.

        Raises:
            JournalError: the disk is full or the folder can't be written. What was written before stays whole; this
                evaluation goes into the system's temporary folder, if that takes it.
        """
        return self.append_all([evaluation])[0]

    def append_all(self, evaluations: Sequence[Evaluation]) -> list[Path]:
        """Write evaluations, each file synced once: much cheaper than one by one. Returns their files.

        Raises: JournalError, as append(). A file takes all that belongs to it or nothing.
        """
        if not self._keeps_source:
            evaluations = [without_source(evaluation) for evaluation in evaluations]
        paths = [self.folder / f"{evaluation.environment.label}.jsonl" for evaluation in evaluations]
        for path in dict.fromkeys(paths):
            mine = (e for e, its_path in zip(evaluations, paths, strict=True) if its_path == path)
            append_lines(path, [to_line(evaluation).encode() for evaluation in mine])
        return paths


def append_lines(path: Path, lines: Sequence[bytes]) -> None:
    """Append whole lines, given without their newlines, to a journal, and wait until they are on the disk.

    A torn line that a crash left at the end of the file gets its newline first, and stays as it is.

    Raises: JournalError; the file is then as it was, and the lines are where the message says.
    """
    data = b"".join(line + b"\n" for line in lines)
    try:
        is_new = not path.exists()
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a+b", buffering=0) as file:
            _append_synced(file, data, is_ours=_lock(file))
        if is_new:  # the names of the file and of its folder, too, must outlast a power cut
            _sync_folder(path.parent)
            _sync_folder(path.parent.parent)
    except OSError as error:
        raise JournalError(
            f"can't write {path}: {error.strerror}; free space or choose --results. Results written before are "
            f"safe, this one {_rescue(path.name, data)}"
        ) from error


@dataclass(frozen=True)
class JournalProblem:
    """A line that can't be used: where it is, what is wrong with it, and what to do."""

    path: Path
    line: int
    """The line's number, counted from 1."""
    what: str
    remedy: str
    is_harmless: bool = False
    """True for a line that was never acknowledged: nothing is missing."""

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.what}; {self.remedy}"


@dataclass(frozen=True)
class JournalLine:
    """The bytes of a line with their place."""

    offset: int
    number: int
    """The line's number, counted from 1."""
    data: bytes
    """The line; of one above LONGEST_LINE, which is no record, the beginning."""
    size: int

    @property
    def is_whole(self) -> bool:
        return self.data.endswith(b"\n")

    @property
    def digest(self) -> bytes:
        """A digest that is equal for equal lines."""
        return hashlib.blake2b(self.data.rstrip(), digest_size=8).digest()


def journal_files(results: Path) -> list[Path]:
    """Return every journal below `results`, at any depth, sorted; a file directly in it is none, nor is a pipe.

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
            found += [path for name in names if name.endswith(".jsonl") and (path := Path(folder, name)).is_file()]
    return sorted(found)


def read_lines(path: Path, offset: int = 0, number: int = 1) -> Iterator[JournalLine]:
    """Yield lines from `offset` on, where line `number` starts; blank ones are left out."""
    with open_plain(path) as file:
        file.seek(offset)
        while size := len(data := file.readline(LONGEST_LINE)):
            if size == LONGEST_LINE and not data.endswith(b"\n"):
                data, size = _beginning(data, file)
            if data.strip():
                yield JournalLine(offset, number, data, size)
            if not data.endswith(b"\n"):
                return  # were its writer still at it, its rest would come next and pass for a line
            offset += size
            number += 1


def read_journals(results: Path) -> Iterator[Evaluation]:
    """Yield every readable evaluation under `results`, each id once; scan_journals() also tells of the other lines."""
    return (found for found in scan_journals(journal_files(results)) if isinstance(found, Evaluation))


def scan_journals(paths: Iterable[Path]) -> Iterator[Evaluation | JournalProblem]:
    """Yield every evaluation, each id once, and every line that holds none, in the order of files and lines."""
    seen: dict[str, bytes] = {}
    for path in paths:
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
    """Say what is wrong with a line that is no evaluation."""
    if not line.is_whole:
        what = f"an unfinished line of {line.size} bytes: its writer was stopped, or is writing now"
        return JournalProblem(path, line.number, what, "nothing to do: it was never reported as kept", True)
    if str(error).startswith("not JSON"):
        remedy = "if a result is missing, restore the file from a copy; else nothing to do"
        return JournalProblem(path, line.number, "a torn or damaged line", remedy)
    return JournalProblem(path, line.number, str(error), "its evaluation doesn't count until that is done")


def contradiction(path: Path, line: int, evaluation_id: str) -> JournalProblem:
    """Say what is wrong with a second line for an id that differs from the first."""
    what = f"evaluation {evaluation_id} stands elsewhere with another content, which counts"
    return JournalProblem(path, line, what, "remove the copy that was edited, then 'harness index --rebuild'")


def _beginning(data: bytes, file: BinaryIO) -> tuple[bytes, int]:
    """Read to the end of a line that is too long; return the beginning of it, with its newline, and its length."""
    size, rest = len(data), data
    while rest and not rest.endswith(b"\n"):
        rest = file.readline(LONGEST_LINE)
        size += len(rest)
    return data[:100] + rest[-1:], size


def _lock(file: io.FileIO) -> bool:
    """Wait until nobody else writes to the file; False on a file system without locks."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
    except OSError:
        return False
    return True


def _append_synced(file: io.FileIO, data: bytes, is_ours: bool) -> None:
    """Append it whole or not at all, also when Ctrl-C comes in between, if the file is locked and its end `is_ours`."""
    start = file.seek(0, os.SEEK_END)
    try:
        _write_all(file, _missing_newline(file, start) + data)
        os.fsync(file.fileno())
    except BaseException:
        if is_ours:  # else another's lines may stand behind `start` by now
            file.truncate(start)  # a torn line would take space that is short, and be reported for ever
        raise


def _missing_newline(file: io.FileIO, end: int) -> bytes:
    if end == 0:
        return b""
    file.seek(end - 1)
    return b"" if file.read(1) == b"\n" else b"\n"


def _write_all(file: io.RawIOBase, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[file.write(view) or 0 :]


def _sync_folder(folder: Path) -> None:
    with suppress(OSError):  # not every file system can
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _rescue(name: str, data: bytes) -> str:
    """Save lines that the journal couldn't take; say where they are."""
    try:
        folder = Path(tempfile.mkdtemp(prefix="harness-unsaved-"))
        (folder / name).write_bytes(data)
    except OSError:
        return "is lost"
    return f"is in {folder / name}"
