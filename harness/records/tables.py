"""The index's tables in SQLite, and entries as their rows."""

from __future__ import annotations

import functools
import json
import sqlite3
from collections.abc import Sequence
from dataclasses import fields
from typing import Any

from harness.records.entry import Entry
from harness.records.evaluation import SCHEMA
from harness.records.line import NoRecord
from harness.records.verdict import Verdict

VERSION = 1000 * 13 + SCHEMA
"""Kept in the file; another one's tables are thrown away. Raise the factor when a column changes its meaning."""

COLUMNS = tuple(f'"{field.name}"' for field in fields(Entry))
"""Quoted: `commit` is a word of SQL."""

_NAMES = tuple(field.name for field in fields(Entry))

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
    is_judgement INTEGER NOT NULL,  -- says something about the solution: passed, or failed by its own fault
    is_rankable INTEGER NOT NULL,   -- a leaderboard may rank it, as far as a row by itself can tell
    {", ".join(COLUMNS)},
    PRIMARY KEY (journal, offset)
) WITHOUT ROWID;
CREATE TABLE problem (
    journal INTEGER NOT NULL,
    line INTEGER NOT NULL,
    what TEXT NOT NULL,
    remedy TEXT NOT NULL
);
-- `counts` stands in some of them so that they cover their queries: rows are wide.
CREATE INDEX entry_id ON entry (id);
CREATE INDEX entry_key ON entry (key) WHERE counts;
CREATE INDEX entry_when ON entry (started_at, id) WHERE counts;
CREATE INDEX entry_run ON entry (run) WHERE counts;
CREATE INDEX entry_what ON entry (problem, solution, started_at DESC, id DESC, counts) WHERE counts;
CREATE INDEX entry_here ON entry (environment, problem, solution, started_at DESC, id DESC, counts) WHERE counts;
CREATE INDEX entry_asked ON entry (problem, problem_sha256, cases, id, counts) WHERE counts;
CREATE INDEX entry_measured ON entry (environment, config, problem, problem_sha256, metric, id, counts)
    WHERE counts AND metric IS NOT NULL;
CREATE INDEX entry_timed ON entry (environment, config, started_at DESC, id DESC, baseline, counts)
    WHERE counts AND baseline IS NOT NULL;
CREATE INDEX entry_newest ON entry (
    environment, config, problem, problem_sha256, solution, solution_sha256, is_judgement, started_at DESC, id DESC,
    verdict, speedup, backend, environment_label, counts
) WHERE counts;
CREATE INDEX entry_rankable ON entry (
    environment, config, problem, problem_sha256, solution, solution_sha256, cases, metric, started_at DESC, id DESC,
    counts, is_rankable
) WHERE counts AND is_rankable;
"""


def create(database: sqlite3.Connection) -> None:
    """Empty tables, whatever was there."""
    database.executescript(f"BEGIN IMMEDIATE; {_TABLES} PRAGMA user_version = {VERSION}; COMMIT;")


def is_current(database: sqlite3.Connection) -> bool:
    version: int = database.execute("PRAGMA user_version").fetchone()[0]
    return version == VERSION


def values_of(entry: Entry) -> list[Any]:
    """In the order of COLUMNS. Raises: NoRecord for a number that SQLite can't hold."""
    return [_to_sql(getattr(entry, name)) for name in _NAMES]


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
    if isinstance(value, Verdict):
        return value.value
    if isinstance(value, tuple):
        return json.dumps(value)
    if isinstance(value, str):
        return value.encode(errors="replace").decode()  # a lone surrogate, as in a file's name that is no UTF-8
    if isinstance(value, int) and value.bit_length() > 63:
        raise NoRecord(f"{value} is too large a number")
    return value
