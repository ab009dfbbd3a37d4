-- The tables of the index. The columns in braces are those of harness/store/entry.py.

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
    next_line INTEGER NOT NULL
);
CREATE TABLE entry (                -- a row per line, so that the same evaluation may stand in two journals
    journal INTEGER NOT NULL,
    offset INTEGER NOT NULL,
    line INTEGER NOT NULL,
    digest BLOB NOT NULL,
    counts INTEGER NOT NULL,        -- 1 for one row of each id: the first in the order of paths
    standing TEXT NOT NULL,         -- what it says of a solution, see standing_of()
    {columns},
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
