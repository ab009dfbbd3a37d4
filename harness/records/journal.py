"""The journal: JSON lines, appended and synced, never rewritten."""

from __future__ import annotations

import io
import json
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from harness.codec import CodecError, decode, encode
from harness.errors import JournalError
from harness.records.evaluation import Evaluation
from harness.records.migration import upgrade


def to_line(evaluation: Evaluation) -> str:
    """The record as one line of JSON, without its newline."""
    return json.dumps(encode(evaluation), separators=(",", ":"), allow_nan=False)


def from_line(line: str) -> Evaluation:
    """An evaluation of this schema or an older one. Raises: CodecError."""
    try:
        data = json.loads(line)
    except (ValueError, RecursionError) as error:  # ValueError: also numbers of too many digits
        raise CodecError(f"not JSON: {error}") from None
    return decode(Evaluation, upgrade(data))


class Journal:
    """The append-only files of one run, under results/<run>/, one per environment."""

    def __init__(self, results: Path, run: str) -> None:
        self.folder = results / run

    def append(self, evaluation: Evaluation) -> Path:
        """Write one evaluation and wait until it is on the disk.

        Raises:
            JournalError: the disk is full or the folder can't be written. What was written before stays whole; this
                evaluation goes into the system's temporary folder, if that takes it.
        """
        path = self.folder / f"{evaluation.environment.label}.jsonl"
        line = (to_line(evaluation) + "\n").encode()
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with path.open("ab", buffering=0) as file:
                start = file.tell()
                try:
                    _write_all(file, line)
                    os.fsync(file.fileno())
                except OSError:
                    os.truncate(path, start)  # a torn line would spoil the next one
                    raise
        except OSError as error:
            raise JournalError(
                f"can't write {path}: {error.strerror}; free space or choose --results. Results written before are "
                f"safe, this one {_rescue(path.name, line)}"
            ) from error
        return path


def _rescue(name: str, line: bytes) -> str:
    """Where a line went that the journal couldn't take."""
    try:
        folder = Path(tempfile.mkdtemp(prefix="harness-unsaved-"))
        (folder / name).write_bytes(line)
    except OSError:
        return "is lost"
    return f"is in {folder / name}"


def _write_all(file: io.RawIOBase, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[file.write(view) or 0 :]


def read_journals(results: Path) -> Iterator[Evaluation]:
    """Every readable evaluation under `results`; torn lines and lines of other schemas are passed over."""
    for path in sorted(results.glob("*/*.jsonl")):
        with path.open(encoding="utf-8", errors="replace") as file:
            for line in file:
                try:
                    yield from_line(line)
                except CodecError:
                    continue
