"""The index's tables in SQLite, and entries as their rows."""

from __future__ import annotations

import functools
import json
import sqlite3
from collections.abc import Sequence
from dataclasses import fields
from typing import Any, Literal

from harness.model.evaluation import SCHEMA
from harness.model.verdict import Verdict
from harness.store.entry import Entry
from harness.store.line import NoRecord

VERSION = 1000 * 14 + SCHEMA
"""Kept in the file; another one's tables are thrown away. Raise the factor when a column changes its meaning."""

COLUMNS = tuple(f'"{field.name}"' for field in fields(Entry))
"""Quoted: `commit` is a word of SQL."""

_NAMES = tuple(field.name for field in fields(Entry))

ID = 1 + _NAMES.index("id")
"""Where values_of() has the id."""

_TABLES = f"""
DROP TABLE IF EXISTS journal;
DROP TABLE IF EXISTS entry;
DROP TABLE IF EXISTS problem;
CREATE TABLE journal (
    number INTEGER PRIMARY KEY,
    path TEXT NOT NULL UNIQUE,      -- below the results folder
    inode INTEGER NOT NULL,
    size INTEGER NOT NULL,          -- of the file when it was read last
    changed_ns INTEGER NOT NULL,
    next_offset INTEGER NOT NULL,   -- everything before is in the tables
    next_line INTEGER NOT NULL,
    last_offset INTEGER,            -- of the last line that is in the tables, to notice a file that was rewritten
    last_digest BLOB
);
CREATE TABLE entry (                -- a row per line, so that the same evaluation may stand in two journals
    journal INTEGER NOT NULL,
    offset INTEGER NOT NULL,
    line INTEGER NOT NULL,
    length INTEGER NOT NULL,
    digest BLOB NOT NULL,
    counts INTEGER NOT NULL,        -- 1 for one row of each id: the first in the order of paths
    standing TEXT NOT NULL,         -- what it says of a solution, see standing_of()
    {", ".join(COLUMNS)},
    PRIMARY KEY (journal, offset)
) WITHOUT ROWID;
CREATE TABLE problem (
    journal INTEGER NOT NULL,
    line INTEGER NOT NULL,
    what TEXT NOT NULL,
    remedy TEXT NOT NULL
);
CREATE INDEX entry_id ON entry (id);
CREATE INDEX entry_key ON entry (key);
CREATE INDEX entry_what ON entry (problem, solution);
"""


def create(database: sqlite3.Connection) -> None:
    """Empty tables, whatever was there."""
    database.executescript(f"BEGIN IMMEDIATE; {_TABLES} PRAGMA user_version = {VERSION}; COMMIT;")


def is_current(database: sqlite3.Connection) -> bool:
    version: int = database.execute("PRAGMA user_version").fetchone()[0]
    return version == VERSION


def values_of(entry: Entry) -> list[Any]:
    """Its standing, and what it says in the order of COLUMNS. Raises: NoRecord for a number that SQLite can't hold."""
    return [standing_of(entry), *(_to_sql(getattr(entry, name)) for name in _NAMES)]


def standing_of(entry: Entry) -> Literal["rankable", "passed", "failed", "unjudged"]:
    """Whether a leaderboard may rank it, as far as it alone can tell; else whose fault it is that it can't."""
    if not entry.verdict.passed:
        return "failed" if entry.verdict.blames_solution else "unjudged"
    is_meant_to_pass = entry.expected_verdict.passed and entry.backend != "sim"
    return "rankable" if is_meant_to_pass and entry.speedup is not None and entry.noise is None else "passed"


def entry_from(values: Sequence[Any]) -> Entry:
    """Of values in the order of COLUMNS."""
    facts = list(values)
    facts[_CASES] = _cases(facts[_CASES])
    for place in _VERDICTS:
        facts[place] = _VERDICT_OF[facts[place]]
    entry = object.__new__(Entry)
    entry.__dict__.update(zip(_NAMES, facts, strict=True))  # a frozen dataclass's own way takes three times as long
    return entry


_CASES = _NAMES.index("cases")
_VERDICTS = (_NAMES.index("verdict"), _NAMES.index("expected_verdict"))
_VERDICT_OF = {verdict.value: verdict for verdict in Verdict}


@functools.lru_cache(maxsize=1024)
def _cases(text: str) -> tuple[str, ...]:
    """Of few different ones in many rows."""
    return tuple(json.loads(text))


def _to_sql(value: Any) -> Any:
    if value is None or isinstance(value, float):
        return value
    if isinstance(value, Verdict):
        return value.value
    if isinstance(value, tuple):
        return json.dumps(value)
    if isinstance(value, str):
        return value.encode(errors="replace").decode()  # a lone surrogate, as in a file's name that is no UTF-8
    if isinstance(value, int) and value.bit_length() > 63:
        raise NoRecord(f"{value} is too large a number")
    return value
