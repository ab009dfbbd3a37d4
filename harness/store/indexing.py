"""The update of the index from the journals: what is new is read, what is gone is dropped."""

from __future__ import annotations

import ctypes
import gc
import multiprocessing
import os
import signal
import sqlite3
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.store.entry import COLUMNS, ID, entry_of, values_of
from harness.store.journal import JournalLine, journal_files, read_lines, unreadable
from harness.store.line import NoRecord, outline_from_line

_A_TRANSACTION = 2000
_A_TRANSACTION_BYTES = 32_000_000
_WORTH_SAYING_BYTES = 50_000_000
_LINES_AT_ONCE = 20
"""The number of lines that a reader gets at once."""

_ROW = f"INSERT INTO entry VALUES ({', '.join('?' * (6 + len(COLUMNS)))})"


def bring_up_to_date(database: sqlite3.Connection, results: Path, say: Callable[[str], None]) -> None:
    """Read what the journals gained since the last time. An interruption keeps what is done so far.

    The caller sees to it that one process does this at a time.
    """
    rows = database.execute("SELECT * FROM journal").fetchall()
    known = {journal.path: journal for journal in (_JournalRow(*row) for row in rows)}
    files = {str(path.relative_to(results)): path for path in journal_files(results)}
    for path in known.keys() - files.keys():
        with _transaction(database):
            _forget(database, known[path].number)
    changed = [name for name, path in files.items() if name not in known or not known[name].is_as_read(path.stat())]
    size = sum(files[name].stat().st_size - (known[name].next_offset if name in known else 0) for name in changed)
    if size > _WORTH_SAYING_BYTES:
        say(f"indexing {size / 1e6:.0f} MB of journals")
    with _readers(size) as read:
        for name in changed:
            while _read_some(database, name, files[name], read):
                pass


ReadAll = Callable[[Path, list[JournalLine]], Iterable[tuple[bytes, list[Any] | NoRecord]]]
"""A reader that gives each line's digest and values_of() it."""


@contextmanager
def _readers(size: int) -> Iterator[ReadAll]:
    """Start one process for each core where there is much to read; but where torch may have threads, a fork could
    hang."""
    cores = len(os.sched_getaffinity(0))
    if size <= _WORTH_SAYING_BYTES or cores == 1 or threading.active_count() > 1 or "torch" in sys.modules:
        yield lambda path, lines: map(_read, lines)
        return
    with ProcessPoolExecutor(cores, multiprocessing.get_context("fork"), _end_with_parent, (os.getpid(),)) as pool:
        yield lambda path, lines: pool.map(
            _read_at, *zip(*((path, line.offset, line.number) for line in lines), strict=True), chunksize=_LINES_AT_ONCE
        )


def _read_at(path: Path, offset: int, number: int) -> tuple[bytes, list[Any] | NoRecord]:
    """Read a line in another process, which reads the file itself: that costs less than to send it the line."""
    return _read(next(read_lines(path, offset, number)))


def _read(line: JournalLine) -> tuple[bytes, list[Any] | NoRecord]:
    try:
        return line.digest, values_of(entry_of(outline_from_line(line.data)))
    except NoRecord as error:
        return line.digest, error


def _end_with_parent(parent: int) -> None:
    """A parent that is killed takes its readers along, which hold its lock (PR_SET_PDEATHSIG(2const))."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)
    gc.freeze()  # what the parent had is not theirs to look through


@dataclass(frozen=True)
class _JournalRow:
    """A row of the table `journal`: how far a file was read."""

    number: int
    path: str
    inode: int
    size: int
    changed_ns: int
    next_offset: int
    next_line: int

    def is_as_read(self, now: os.stat_result) -> bool:
        return (self.inode, self.size, self.changed_ns) == (now.st_ino, now.st_size, now.st_mtime_ns)

    def was_rewritten(self, database: sqlite3.Connection, path: Path, now: os.stat_result) -> bool:
        """A journal only grows; another file may have taken its place, or an editor been at it."""
        if self.inode != now.st_ino or now.st_size < self.next_offset or self.size == now.st_size:
            return True
        query = "SELECT offset, digest FROM entry WHERE journal = ? ORDER BY offset DESC LIMIT 1"
        for offset, digest in database.execute(query, (self.number,)).fetchall():
            last = next(read_lines(path, offset), None)
            return last is None or last.digest != digest
        return False


@contextmanager
def _transaction(database: sqlite3.Connection) -> Iterator[None]:
    database.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        database.execute("ROLLBACK")
        raise
    database.execute("COMMIT")


def _read_some(database: sqlite3.Connection, name: str, path: Path, read: ReadAll) -> bool:
    """The next lines of one file; True where more may follow."""
    with _transaction(database):
        try:
            now = path.stat()
            journal = _known(database, name, path, now)
            lines, is_finished = _next_lines(path, journal)
        except FileNotFoundError:
            return False  # gone since it was listed: the next opening forgets it
        database.execute("DELETE FROM problem WHERE journal = ? AND line >= ?", (journal.number, journal.next_line))
        again = _insert(database, journal.number, path, lines, read)
        _count_once(database, again)
        _note_progress(database, journal, lines, now, is_finished)
        return not is_finished


def _next_lines(path: Path, journal: _JournalRow) -> tuple[list[JournalLine], bool]:
    """Return as many lines as a transaction takes, and whether that is all."""
    lines, size = [], 0
    for line in read_lines(path, journal.next_offset, journal.next_line):
        lines.append(line)
        size += len(line.data)
        if len(lines) == _A_TRANSACTION or size > _A_TRANSACTION_BYTES:
            return lines, False
    return lines, True


def _known(database: sqlite3.Connection, name: str, path: Path, now: os.stat_result) -> _JournalRow:
    """The file's row: a new one where the file is new or was rewritten."""
    row = database.execute("SELECT * FROM journal WHERE path = ?", (name,)).fetchone()
    if row is not None:
        journal = _JournalRow(*row)
        if not journal.was_rewritten(database, path, now):
            return journal
        _forget(database, journal.number)
    cursor = database.execute("INSERT INTO journal VALUES (NULL, ?, ?, -1, 0, 0, 1)", (name, now.st_ino))
    assert cursor.lastrowid is not None
    return _JournalRow(cursor.lastrowid, name, now.st_ino, -1, 0, 0, 1)


def _insert(
    database: sqlite3.Connection, journal: int, path: Path, lines: list[JournalLine], read: ReadAll
) -> set[str]:
    """Insert rows for lines, or what is wrong with them; return ids that there was a row for already."""
    again = set()
    for line, (digest, values) in zip(lines, read(path, lines), strict=True):
        if isinstance(values, NoRecord):
            found = unreadable(path, line, values)
            database.execute(
                "INSERT INTO problem VALUES (?, ?, ?, ?)", (journal, line.number, found.what, found.remedy)
            )
            continue
        if database.execute("SELECT 1 FROM entry WHERE id = ? LIMIT 1", (values[ID],)).fetchone():
            again.add(values[ID])
        database.execute(_ROW, (journal, line.offset, line.number, digest, 1, *values))
    return again


def _note_progress(
    database: sqlite3.Connection,
    journal: _JournalRow,
    lines: list[JournalLine],
    read: os.stat_result,
    is_finished: bool,
) -> None:
    """Remember where to go on. A torn last line is read again, since it may have been in the making."""
    offset, number = journal.next_offset, journal.next_line
    for line in lines[-1:]:
        query = "SELECT 1 FROM entry WHERE journal = ? AND offset = ?"  # only its newline may be still to come
        is_known = line.is_whole or database.execute(query, (journal.number, line.offset)).fetchone()
        offset, number = line.offset + (line.size if is_known else 0), line.number + line.is_whole
    size, changed_ns = (read.st_size, read.st_mtime_ns) if is_finished else (-1, 0)
    database.execute(
        "UPDATE journal SET size = ?, changed_ns = ?, next_offset = ?, next_line = ? WHERE number = ?",
        (size, changed_ns, offset, number, journal.number),
    )


def _forget(database: sqlite3.Connection, journal: int) -> None:
    """Drop what came from a file; copies elsewhere of its evaluations count from now on."""
    elsewhere = database.execute(
        "SELECT DISTINCT id FROM entry WHERE journal = ? AND id IN (SELECT id FROM entry WHERE journal <> ?)",
        (journal, journal),
    ).fetchall()
    for table, column in (("entry", "journal"), ("problem", "journal"), ("journal", "number")):
        database.execute(f"DELETE FROM {table} WHERE {column} = ?", (journal,))
    _count_once(database, {row[0] for row in elsewhere})


def _count_once(database: sqlite3.Connection, ids: set[str]) -> None:
    """Let one line of each id count: the first in the order of paths, in whatever order they were found."""
    for one in ids:
        places = database.execute(
            "SELECT journal, offset FROM entry JOIN journal ON number = journal WHERE id = ? ORDER BY path, offset",
            (one,),
        ).fetchall()
        database.execute("UPDATE entry SET counts = 0 WHERE id = ?", (one,))
        database.execute("UPDATE entry SET counts = 1 WHERE journal = ? AND offset = ?", places[0])
