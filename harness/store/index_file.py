"""The index's file: filled by one process at a time, replaced where it is damaged, in memory where it can't be kept."""

from __future__ import annotations

import fcntl
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from harness.model.evaluation import SCHEMA
from harness.store.entry import COLUMNS
from harness.store.indexing import bring_up_to_date

FILE_NAME = ".index.sqlite"
_TURN = ".index.turn"
"""The file that is locked by whoever is filling the tables."""
_USERS = ".index.users"
"""The file that is locked, shared, by everybody who has the index open."""
_BUSY_S = 60.0
"""The time that SQLite waits for another process, where the file system has no locks of our own."""

Say = Callable[[str], None]

VERSION = 1000 * 17 + SCHEMA
"""The version kept in the file; another version's tables are thrown away. Raise the factor when a column changes its
meaning."""

_TABLES = Path(__file__).with_name("tables.sql")


class IndexFile:
    """A connection to the tables of `results`, up to date. It is ended by close()."""

    def __init__(self, results: Path, say: Say, rebuild: bool = False) -> None:
        self.results = results
        self._say = say
        self._held = ExitStack()
        self.connection = self._open(rebuild)

    def close(self) -> None:
        self.connection.close()
        self._held.close()

    def repair(self) -> None:
        """Start anew after a damaged page was met in the middle of the work."""
        self.close()
        self.connection = self._replace("a page of it can't be read")

    def _open(self, rebuild: bool) -> sqlite3.Connection:
        if not self.results.is_dir():
            return _in_memory(self.results, self._say)
        try:
            return self._on_disk(rebuild)
        except (OSError, sqlite3.OperationalError) as error:
            return self._instead(f"the index can't be kept in {self.results} ({error})")
        except sqlite3.DatabaseError as error:
            if not is_damage(error):
                raise
            return self._replace(str(error))

    def _on_disk(self, rebuild: bool) -> sqlite3.Connection:
        with ExitStack() as held:
            held.enter_context(_lock(self.results / _USERS, fcntl.LOCK_SH))
            with _lock(self.results / _TURN, fcntl.LOCK_EX):
                database = sqlite3.connect(self.results / FILE_NAME, timeout=_BUSY_S, isolation_level=None)
                held.callback(database.close)
                database.execute("PRAGMA journal_mode = WAL")  # others read while one writes
                database.execute("PRAGMA synchronous = NORMAL")  # a power cut may take rows; they are made again
                if rebuild or not _is_current(database):
                    _create(database)
                bring_up_to_date(database, self.results, self._say)
                database.execute("BEGIN")  # whatever others do to the tables from now on, we see this state
                database.execute("SELECT count(*) FROM journal").fetchone()
            self._held = held.pop_all()
        return database

    def _replace(self, damage: str) -> sqlite3.Connection:
        """Replace a damaged file. SQLite removes its side files by name: the file may only go while nobody has it
        open."""
        path = self.results / FILE_NAME
        try:
            with _lock(self.results / _USERS, fcntl.LOCK_EX | fcntl.LOCK_NB):
                for suffix in ("", "-wal", "-shm"):
                    Path(f"{path}{suffix}").unlink(missing_ok=True)
            self._say(f"{path} was damaged ({damage}); made anew from the journals")
            return self._on_disk(rebuild=False)
        except (OSError, sqlite3.DatabaseError) as error:
            return self._instead(f"{path} is damaged ({damage}) and can't be replaced now ({error})")

    def _instead(self, why: str) -> sqlite3.Connection:
        self._say(f"{why}; made in memory, which takes longer")
        return _in_memory(self.results, self._say)


def is_damage(error: sqlite3.DatabaseError) -> bool:
    """Say whether the file is broken, as against locked, read-only or on a full disk (OperationalError)."""
    return type(error) is sqlite3.DatabaseError


@contextmanager
def _lock(path: Path, mode: int) -> Iterator[None]:
    """Lock the file at `path`. Raises: BlockingIOError, with LOCK_NB, while another process has it."""
    with path.open("ab") as file:
        try:
            fcntl.flock(file, mode)
        except BlockingIOError:
            raise
        except OSError:
            pass  # a file system without locks: SQLite's own remain
        yield


def _in_memory(results: Path, say: Say) -> sqlite3.Connection:
    """Make the index in memory, starting from the file where there is one that can be read."""
    with suppress(sqlite3.Error):
        if (database := _copy(results / FILE_NAME)) is not None:
            bring_up_to_date(database, results, say)
            return database
    database = sqlite3.connect(":memory:", isolation_level=None)
    _create(database)
    bring_up_to_date(database, results, say)
    return database


def _copy(path: Path) -> sqlite3.Connection | None:
    if not path.is_file():
        return None
    database = sqlite3.connect(":memory:", isolation_level=None)
    kept = sqlite3.connect(f"{path.absolute().as_uri()}?immutable=1", uri=True)  # without locks or side files
    try:
        kept.backup(database)
    finally:
        kept.close()
    return database if _is_current(database) else None


def _create(database: sqlite3.Connection) -> None:
    """Make empty tables, whatever was there."""
    tables = _TABLES.read_text(encoding="utf-8").format(columns=", ".join(COLUMNS))
    database.executescript(f"BEGIN IMMEDIATE; {tables} PRAGMA user_version = {VERSION}; COMMIT;")


def _is_current(database: sqlite3.Connection) -> bool:
    version: int = database.execute("PRAGMA user_version").fetchone()[0]
    return version == VERSION
