"""The index of the journals: SQLite, derived from them, brought up to date whenever it is opened.

It is thrown away and made anew where it is damaged or of another version; where it can't be kept (a folder that can't
be written, a file system without locks) it is made in memory.
"""

from __future__ import annotations

import gc
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from typing import Any

from harness.errors import JournalError, UsageError
from harness.model.evaluation import Evaluation
from harness.store.entry import COLUMNS, Entry, Tally, entry_from
from harness.store.index_file import FILE_NAME, IndexFile, is_damage
from harness.store.journal import JournalProblem, contradiction, read_lines
from harness.store.line import NoRecord, from_line
from harness.suggest import did_you_mean

LAST = ("last", "latest")
"""The name of the newest evaluation instead of an id."""

_ALL = ", ".join(COLUMNS)
_OLDEST_FIRST = "ORDER BY started_at, id"


def open_index(results: Path, *, rebuild: bool = False, say: Callable[[str], None] = lambda what: None) -> Index:
    """The index of `results`, up to date; `rebuild` makes it anew. `say` is told what takes long or was repaired."""
    return Index(results, say, rebuild)


@dataclass(frozen=True)
class IndexStatus:
    """The contents of the journals. `path` is None for an index in memory; `copies` are further lines of
    evaluations."""

    path: Path | None
    journals: int
    runs: int
    evaluations: int
    copies: int
    problems: tuple[JournalProblem, ...]


class Index(IndexFile, AbstractContextManager["Index"]):
    """A context manager. Its answers are as of its opening; an evaluation appended later is not in it."""

    def __exit__(self, *error: object) -> None:
        self.close()

    def entries(
        self,
        *,
        problem: str | None = None,
        solution: str | None = None,
        run: str | None = None,
        environment: str | None = None,
        backend: str | None = None,
    ) -> list[Entry]:
        """Return evaluations whose facts equal those given, oldest first."""
        facts = {"problem": problem, "solution": solution, "run": run, "environment": environment, "backend": backend}
        given = {column: value for column, value in facts.items() if value is not None}
        where = "".join(f" AND {column} = ?" for column in given)
        query = f"SELECT {_ALL} FROM entry WHERE counts{where} {_OLDEST_FIRST}"
        with _uncollected():
            return list(map(entry_from, self._rows(query, list(given.values()))))

    def latest(self, problem: str, solution: str, backend: str | None = None) -> Entry | None:
        """The newest evaluation of a solution."""
        return next(reversed(self.entries(problem=problem, solution=solution, backend=backend)), None)

    def names(self) -> set[tuple[str, str]]:
        """Every problem and solution of which there is an evaluation."""
        return set(map(tuple, self._rows("SELECT DISTINCT problem, solution FROM entry WHERE counts")))

    def latest_by_key(self, keys: Sequence[str]) -> dict[str, Entry]:
        """Return the newest evaluation of each key that has any."""
        found: dict[str, Entry] = {}
        for start in range(0, len(keys), 500):
            some = keys[start : start + 500]
            query = f"SELECT {_ALL} FROM entry WHERE counts AND key IN ({', '.join('?' * len(some))}) {_OLDEST_FIRST}"
            found |= {entry.key: entry for entry in map(entry_from, self._rows(query, some))}
        return found

    def tallies(self) -> list[Tally]:
        """Count what there is by environment, config, problem and its version, solution."""
        with _uncollected():
            return [Tally(*(*row[:7], bool(row[7]), row[8], bool(row[9]))) for row in self._rows(_TALLIES)]

    def newest(self) -> list[Entry]:
        """The evaluations that a leaderboard can rest on, oldest first.

        What is left out is superseded by a newer evaluation that is equal to it in all that a leaderboard's rules look
        at: environment, config, problem and solution with their versions, cases, metric, and standing_of() it.
        """
        with _uncollected():
            return sorted(map(entry_from, self._rows(_NEWEST)), key=attrgetter("started_at", "id"))

    def evaluation(self, name: str) -> Evaluation:
        """The evaluation of an id, of a unique beginning of an id or of its last part; the newest for 'last', of a
        problem for its name, of one solution for PROBLEM/SOLUTION.

        Raises: UsageError for a name that fits none or several, JournalError where its line can't be read any more.
        """
        return self._read(*self._place(self._resolve(name)))

    def evaluations(self, ids: Iterable[str]) -> Iterator[Evaluation]:
        """Read whole evaluations one by one, in the order of their ids: a hundred thousand don't fit into memory.
        Raises: UsageError for an unknown id; JournalError."""
        return (self._read(*self._place(one)) for one in ids)

    def sanitized_fault(self, entries: Sequence[Entry]) -> Entry | None:
        """Return what the last look at every access found, where the newest evaluation passes the same files without
        it: only such a look finds some faults. `entries` are those of one solution, oldest first, and at least one."""
        last = entries[-1]
        files = last.solution_sha256, last.problem_sha256
        same = [one for one in entries if one.backend == "sim" and (one.solution_sha256, one.problem_sha256) == files]
        same = [one for one in same if one.verdict.passed or one.verdict.blames_solution]
        if not (last.verdict.passed and any(one.verdict.blames_solution for one in same)):
            return None
        looked = (one for one in reversed(same) if self.evaluation(one.id).config.correctness.sanitize)
        found = next(looked, last)
        return found if found.verdict.blames_solution else None

    def status(self) -> IndexStatus:
        """Return counts, and the lines that can't be used."""
        ((journals,),) = self._rows("SELECT count(*) FROM journal")
        ((runs, counting, lines),) = self._rows("SELECT count(DISTINCT run), total(counts), count(*) FROM entry")
        (_, _, file), *_ = self._rows("PRAGMA database_list")
        return IndexStatus(
            path=self.results / FILE_NAME if file else None,
            journals=journals,
            runs=runs,
            evaluations=int(counting),
            copies=lines - int(counting),
            problems=tuple(self._problems()),
        )

    def _problems(self) -> list[JournalProblem]:
        unreadable = self._rows("SELECT path, line, what, remedy FROM problem JOIN journal ON number = journal")
        found = [JournalProblem(self.results / path, line, what, remedy) for path, line, what, remedy in unreadable]
        found += [contradiction(self.results / path, line, one) for path, line, one in self._rows(_CONTRADICTIONS)]
        return sorted(found, key=lambda problem: (problem.path, problem.line))

    def _resolve(self, name: str) -> str:
        newest = self._rows("SELECT id FROM entry WHERE counts ORDER BY started_at DESC, id DESC LIMIT 1")
        if not newest:
            raise UsageError(f"no evaluation in {self.results} yet: make one with 'harness run'")
        if name in LAST:
            return str(newest[0][0])
        if not name or self._rows("SELECT 1 FROM entry WHERE id = ?", [name]):
            return name
        problem, _, solution = name.partition("/")
        query = "SELECT id FROM entry WHERE counts AND problem = ? AND ? IN (solution, '') "
        if of_name := self._rows(f"{query}ORDER BY started_at DESC, id DESC LIMIT 1", [problem, solution]):
            return str(of_name[0][0])
        pattern = name.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_") + "%"
        query = (
            "SELECT id FROM entry WHERE counts AND (id LIKE ? ESCAPE '\\' OR id LIKE '%-' || ? ESCAPE '\\') "
            "ORDER BY id LIMIT 6"
        )
        fitting = [row[0] for row in self._rows(query, [pattern, pattern])]
        if len(fitting) > 1:
            some = ", ".join(fitting[:5]) + (", …" if len(fitting) > 5 else "")
            raise UsageError(f"'{name}' fits several evaluations: {some}")
        return fitting[0] if fitting else name

    def _place(self, evaluation_id: str) -> tuple[str, int, int, bytes]:
        """Return path, offset, line and digest."""
        query = "SELECT path, offset, line, digest FROM entry JOIN journal ON number = journal WHERE counts AND id = ?"
        if rows := self._rows(query, [evaluation_id]):
            path, offset, line, digest = rows[0]
            return path, offset, line, digest
        near = [
            row[0]
            for order, sign in (("DESC", "<"), ("ASC", ">"))
            for row in self._rows(
                f"SELECT id FROM entry WHERE counts AND id {sign} ? ORDER BY id {order} LIMIT 20", [evaluation_id]
            )
        ]
        pairs = self.names()
        near += [f"{problem}/{solution}" for problem, solution in pairs] + [problem for problem, _ in pairs]
        hint = did_you_mean(evaluation_id, near, " 'harness list' says what has one; 'last' is the newest.")
        raise UsageError(f"no evaluation '{evaluation_id}' in {self.results}.{hint}")

    def _read(self, path: str, offset: int, number: int, digest: bytes) -> Evaluation:
        file = self.results / path
        try:
            line = next(read_lines(file, offset, number), None)
            if line is not None and line.digest == digest:
                return from_line(line.data)
            what = "is not the line any more that was indexed"
        except (OSError, NoRecord) as error:
            what = f"can't be read: {error}"
        raise JournalError(f"{file}:{number} {what}; restore the file, then 'harness index --rebuild'")

    def _rows(self, query: str, values: Sequence[Any] = ()) -> list[Any]:
        try:
            return self.connection.execute(query, values).fetchall()
        except sqlite3.DatabaseError as error:
            if not is_damage(error):
                raise
            self.repair()
            return self.connection.execute(query, values).fetchall()


@contextmanager
def _uncollected() -> Iterator[None]:
    """Stop garbage collection: making 100,000 objects that all stay would set it off again and again, for nothing."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


_CONTRADICTIONS = """
SELECT path, copy.line, copy.id
FROM entry AS copy JOIN entry AS first ON first.id = copy.id AND first.counts JOIN journal ON number = copy.journal
WHERE NOT copy.counts AND copy.digest <> first.digest
"""

_TALLIES = """
SELECT environment, min(environment_label), config, problem, problem_sha256, solution,
    count(*), count(speedup) > 0, max(started_at), min(backend = 'sim')
FROM entry WHERE counts GROUP BY environment, config, problem, problem_sha256, solution
"""

_NEWEST = f"""
SELECT {", ".join(f"entry.{column}" for column in COLUMNS)} FROM entry JOIN (
    SELECT journal, offset, max(started_at || ' ' || id) FROM entry WHERE counts
    GROUP BY environment, config, problem, problem_sha256, solution, solution_sha256, cases, metric, standing
) USING (journal, offset)
"""
"""The query for the newest entries: SQLite takes a group's other columns from the row that has the highest value."""
