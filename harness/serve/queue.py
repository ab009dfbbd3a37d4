"""The queue: every job that was accepted, in a file of SQLite's, and what became of it.

A job is accepted, begun and finished in transactions that are on the disk before anybody hears of them. A server that
is killed finds its jobs again: who was under way is queued anew, and who has a verdict is never judged again.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import secrets
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, NamedTuple, TextIO

import sqlalchemy as sql
from sqlalchemy.engine import Connection, Row

from harness.errors import MachineError, UsageError, refused
from harness.model.plural import several
from harness.serve.bell import Bell
from harness.serve.messages import JobState, QueuedJob, Submission

_META = sql.MetaData()
_JOB = sql.Table(
    "job",
    _META,
    sql.Column("number", sql.Integer, primary_key=True),
    sql.Column("id", sql.String, unique=True, nullable=False),
    sql.Column("owner", sql.String, nullable=False),
    sql.Column("key", sql.String),
    sql.Column("digest", sql.String, nullable=False),
    sql.Column("body", sql.String, nullable=False),
    sql.Column("problem", sql.String, nullable=False),
    sql.Column("name", sql.String, nullable=False),
    sql.Column("config", sql.String, nullable=False),
    sql.Column("rank", sql.Integer, nullable=False),
    sql.Column("state", sql.String, nullable=False),
    sql.Column("attempts", sql.Integer, nullable=False),
    sql.Column("submitted_at", sql.Float, nullable=False),
    sql.Column("started_at", sql.Float),
    sql.Column("finished_at", sql.Float),
    sql.Column("verdict", sql.String),
    sql.Column("evaluation", sql.String),
    sql.Column("record", sql.String),
    sql.Column("error", sql.String),
    sql.Column("is_kept", sql.Boolean, nullable=False),
    sql.UniqueConstraint("owner", "key"),
    sql.Index("by_owner_and_rank", "state", "owner", "rank", "number"),
)
_EVENT = sql.Table(
    "event",
    _META,
    sql.Column("number", sql.Integer, primary_key=True),
    sql.Column("owner", sql.String, nullable=False),
    sql.Column("job", sql.String, nullable=False),
    sql.Column("state", sql.String, nullable=False),
    sql.Column("verdict", sql.String),
    sql.Index("by_owner", "owner", "number"),
    sql.Index("by_job", "job"),
)
_LIGHT = [column for column in _JOB.c if column.name not in ("body", "record")]
"""Columns but those of long texts."""
_MOST_ATTEMPTS = 20
"""A job that was under way so often when the server ended is not begun again."""


class Conflict(Exception):
    """The request doesn't fit to what there is."""


class BegunJob(NamedTuple):
    """A job under way, in its `attempts`th attempt."""

    id: str
    owner: str
    attempts: int
    asked: Submission


class JobQueue(AbstractContextManager["JobQueue"]):
    """A context manager: one process has a queue's file at a time. Its methods may be called from any thread."""

    def __init__(self, path: Path, most: int = 100_000) -> None:
        """`most` jobs may wait. Raises: MachineError where the file can't be used, or another server has it."""
        self._lock_file = _hold(path)
        self._most = most
        self._lock = threading.Lock()
        self.bell = Bell()
        self._changed: set[str] = set()
        self._owners: set[str] = set()
        self._begun: dict[str, int] = {}
        """The number of the last job that was begun for each owner, counted through all of them."""
        address = sql.URL.create("sqlite", database=str(path))
        self._engine = sql.create_engine(address, connect_args={"timeout": 60})
        sql.event.listen(self._engine, "connect", _make_durable)
        try:
            _META.create_all(self._engine)
            for index in (*_JOB.indexes, *_EVENT.indexes):
                index.create(self._engine, checkfirst=True)
            with self._reading() as connection:
                self._owners |= set(connection.execute(sql.select(_JOB.c.owner).distinct()).scalars())
            self.requeue()
        except sql.exc.DatabaseError as error:
            self.close()
            raise MachineError(f"{path}: {error.orig}; name another --queue") from error

    def close(self) -> None:
        self._engine.dispose()
        self._lock_file.close()

    def __exit__(self, *_: object) -> None:
        self.close()

    def accept(self, owner: str, asked: Sequence[Submission]) -> list[QueuedJob]:
        """Accept all, or none. Raises: MachineError where it is full; Conflict where a key is taken by another job."""
        rows = []
        with self._writing() as connection:
            self._owners.add(owner)
            for one in asked:
                body = one.model_dump_json()
                digest = hashlib.sha256(body.encode()).hexdigest()
                if one.key is not None and (known := _find(connection, _JOB.c.owner == owner, _JOB.c.key == one.key)):
                    if known.digest != digest:
                        raise Conflict(f"key {one.key!r} is another job's, {known.id}")
                    rows.append(known)
                    continue
                job = f"job-{secrets.token_hex(8)}"
                values = {
                    "id": job,
                    "owner": owner,
                    "key": one.key,
                    "digest": digest,
                    "body": body,
                    "problem": "text" if "\n" in one.problem else one.problem,
                    "name": one.name,
                    "config": one.config or "",
                    "rank": -one.priority,
                    "state": "queued",
                    "attempts": 0,
                    "submitted_at": time.time(),
                    "is_kept": False,
                }
                connection.execute(sql.insert(_JOB).values(values))
                self._note(connection, owner, job, "queued")
                rows.append(_one(connection, job))
            waiting = connection.execute(sql.select(sql.func.count()).where(_JOB.c.state == "queued")).scalar_one()
            if waiting > self._most:
                before = several(waiting - len(asked), "job")
                raise MachineError(f"the queue is full: {before} waiting, of at most {self._most}")
        return [_job(row) for row in rows]

    def next_config(self) -> str | None:
        """The config of the job that is next; '' is the server's own, None: nothing waits."""
        with self._reading() as connection:
            return next((str(row.config) for row in self._heads(connection)), None)

    def take(self, config: str, unless: threading.Event, in_company: bool, stays: bool = False) -> BegunJob | None:
        """Begin the job that is next; None where it has another config, or `unless` is set. One that was begun before
        isn't begun `in_company` of others. `stays`: who wants this config comes before those whose turn it is."""
        with self._writing() as connection:
            heads = [] if unless.is_set() else self._heads(connection)
            fitting = [row for row in heads if row.config == config] if stays else heads
            row = fitting[0] if fitting else None
            if row is None or row.config != config or (row.attempts and in_company):
                return None
            self._begun[row.owner] = 1 + max(self._begun.values(), default=0)
            if row.attempts >= _MOST_ATTEMPTS:
                error = f"the server ended {row.attempts} times while it was under way"
                self._change(connection, row.id, state="failed", error=error, finished_at=time.time())
                return None
            self._change(connection, row.id, state="running", attempts=row.attempts + 1, started_at=time.time())
            body = connection.execute(sql.select(_JOB.c.body).where(_JOB.c.id == row.id)).scalar_one()
            return BegunJob(row.id, row.owner, row.attempts + 1, Submission.model_validate_json(body))

    def requeue(self) -> None:
        """Queue anew whatever was begun."""
        with self._writing() as connection:
            for job in connection.execute(sql.select(_JOB.c.id).where(_JOB.c.state == "running")).scalars().all():
                self._change(connection, job, state="queued")

    def give_back(self, job: BegunJob) -> None:
        """Queue a job anew, since the machine failed."""
        self._end(job, state="queued")

    def finish(self, job: BegunJob, evaluation: str, verdict: str, record: str) -> None:
        self._end(job, state="done", evaluation=evaluation, verdict=verdict, record=record, finished_at=time.time())

    def fail(self, job: BegunJob, error: str) -> None:
        self._end(job, state="failed", error=error[:_LONGEST_ERROR], finished_at=time.time())

    def cancel(self, owner: str, job: str) -> QueuedJob:
        """Raises: UsageError for an unknown job; Conflict for one that was begun."""
        with self._writing() as connection:
            row = self._own(connection, owner, job)
            if row.state not in ("queued", "cancelled"):
                raise Conflict(f"{job} is {row.state}: only what waits can be cancelled")
            if row.state == "queued":
                row = self._change(connection, job, state="cancelled", finished_at=time.time())
        return _job(row)

    def job(self, owner: str, job: str) -> QueuedJob:
        """Raises: UsageError for an unknown job."""
        with self._reading() as connection:
            return _job(self._own(connection, owner, job))

    def jobs(self, owner: str, state: JobState | None, limit: int) -> list[QueuedJob]:
        """The newest first."""
        chosen = sql.select(*_LIGHT).where(_JOB.c.owner == owner).order_by(_JOB.c.number.desc()).limit(limit)
        if state is not None:
            chosen = chosen.where(_JOB.c.state == state)
        with self._reading() as connection:
            return [_job(row) for row in connection.execute(chosen)]

    def record(self, owner: str, job: str) -> str:
        """The journal's line of a job. Raises: UsageError for an unknown one; Conflict where there is none."""
        with self._reading() as connection:
            row = self._own(connection, owner, job)
            record = connection.execute(sql.select(_JOB.c.record).where(_JOB.c.id == job)).scalar_one()
        if record is None:
            raise Conflict(f"{job} is {row.state}: it has no record{f' ({row.error})' if row.error else ' yet'}")
        return str(record)

    def events(self, owner: str, after: int, limit: int = 1_000) -> list[dict[str, Any]]:
        """Changes of state since an event's number."""
        chosen = sql.select(_EVENT).where(_EVENT.c.owner == owner, _EVENT.c.number > after)
        with self._reading() as connection:
            found = connection.execute(chosen.order_by(_EVENT.c.number).limit(limit)).all()
        return [{"number": row.number, "job": row.job, "state": row.state, "verdict": row.verdict} for row in found]

    def counts(self) -> dict[str, int]:
        """Jobs of everybody's by state."""
        chosen = sql.select(_JOB.c.state, sql.func.count()).group_by(_JOB.c.state)
        with self._reading() as connection:
            return {row[0]: row[1] for row in connection.execute(chosen)}

    def verdicts(self) -> dict[str, int]:
        """Finished jobs of everybody's by verdict."""
        chosen = sql.select(_JOB.c.verdict, sql.func.count()).where(_JOB.c.state == "done").group_by(_JOB.c.verdict)
        with self._reading() as connection:
            return {row[0]: row[1] for row in connection.execute(chosen)}

    def oldest_begun(self) -> tuple[str, float] | None:
        """The job that has been under way longest, and since when."""
        chosen = sql.select(_JOB.c.id, _JOB.c.started_at).where(_JOB.c.state == "running")
        with self._reading() as connection:
            row = connection.execute(chosen.order_by(_JOB.c.started_at).limit(1)).first()
            return None if row is None else (row.id, row.started_at)

    def unkept(self) -> list[tuple[str, str]]:
        """Job and record of what is finished and not known to be in the journal."""
        chosen = sql.select(_JOB.c.id, _JOB.c.record).where(_JOB.c.state == "done", _JOB.c.is_kept.is_(False))
        with self._reading() as connection:
            return [(row.id, row.record) for row in connection.execute(chosen.order_by(_JOB.c.number))]

    def keep(self, job: str) -> None:
        """Note that its record is in the journal."""
        with self._writing() as connection:
            connection.execute(sql.update(_JOB).where(_JOB.c.id == job).values(is_kept=True))

    def prune(self, before: float) -> int:
        """Forget jobs that ended before this time, in seconds since 1970, but for those whose records aren't in the
        journal yet. Return how many."""
        is_over = _JOB.c.state.in_(("cancelled", "failed")) | _JOB.c.is_kept.is_(True)
        old = sql.select(_JOB.c.id).where(_JOB.c.finished_at < before, is_over)
        with self._writing() as connection:
            newest = sql.select(sql.func.max(_EVENT.c.number)).scalar_subquery()  # stays: numbers are never given again
            connection.execute(sql.delete(_EVENT).where(_EVENT.c.job.in_(old), _EVENT.c.number < newest))
            return connection.execute(sql.delete(_JOB).where(_JOB.c.id.in_(old))).rowcount

    @contextmanager
    def _writing(self) -> Iterator[Connection]:
        """One transaction at a time. Raises: MachineError where the file can't be used."""
        with self._lock:
            with self._reading() as connection, connection.begin():
                yield connection
            changed, self._changed = self._changed, set()
        self.bell.ring(changed)

    @contextmanager
    def _reading(self) -> Iterator[Connection]:
        try:
            with self._engine.connect() as connection:
                yield connection
        except sql.exc.DatabaseError as error:
            raise MachineError(f"the queue can't be used: {error.orig}; free space, or name another --queue") from error

    def _end(self, job: BegunJob, **values: Any) -> None:
        """End an attempt, unless it was ended already."""
        with self._writing() as connection:
            row = _find(connection, _JOB.c.id == job.id)
            if row is not None and (row.state, row.attempts) == ("running", job.attempts):
                self._change(connection, job.id, **values)

    def _heads(self, connection: Connection) -> list[Row[Any]]:
        """The next job of each owner; owners take turns, whoever has waited longest coming first."""
        owners = tuple(self._owners)  # at once: another thread may be adding one
        found = (connection.execute(_NEXT.where(_JOB.c.owner == owner)).first() for owner in owners)
        waiting = [row for row in found if row is not None]
        return sorted(waiting, key=lambda row: (self._begun.get(row.owner, 0), row.number))

    def _change(self, connection: Connection, job: str, **values: Any) -> Row[Any]:
        connection.execute(sql.update(_JOB).where(_JOB.c.id == job).values(**values))
        row = _one(connection, job)
        self._note(connection, row.owner, job, row.state, row.verdict)
        return row

    def _note(self, connection: Connection, owner: str, job: str, state: str, verdict: str | None = None) -> None:
        connection.execute(sql.insert(_EVENT).values(owner=owner, job=job, state=state, verdict=verdict))
        self._changed.add(owner)

    def _own(self, connection: Connection, owner: str, job: str) -> Row[Any]:
        if (row := _find(connection, _JOB.c.id == job, _JOB.c.owner == owner)) is None:
            raise UsageError(f"no job {job!r} of yours")
        return row


def _hold(path: Path) -> TextIO:
    """Make a queue's file, which its owner alone may read, and lock it for this process. Raises: MachineError."""
    with refused(MachineError, str(path), "name another --queue"):
        path.parent.mkdir(parents=True, exist_ok=True)
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))  # who reads it reads every solution
        lock = path.with_name(f"{path.name}.lock").open("w")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        lock.close()
        raise MachineError(f"{path}: another server has this queue; end it, or name another --queue") from None
    return lock


def _make_durable(connection: Any, _: object) -> None:
    cursor = connection.cursor()
    cursor.execute("PRAGMA journal_mode=WAL")
    cursor.execute("PRAGMA synchronous=FULL")
    cursor.close()


def _find(connection: Connection, *where: sql.ColumnElement[bool]) -> Row[Any] | None:
    return connection.execute(sql.select(*_LIGHT).where(*where)).first()


def _one(connection: Connection, job: str) -> Row[Any]:
    return connection.execute(sql.select(*_LIGHT).where(_JOB.c.id == job)).one()


def _job(row: Row[Any]) -> QueuedJob:
    return QueuedJob(**{**row._mapping, "config": row.config or None, "priority": -row.rank})


_NEXT = sql.select(*_LIGHT).where(_JOB.c.state == "queued").order_by(_JOB.c.rank, _JOB.c.number).limit(1)
_LONGEST_ERROR = 2_000
