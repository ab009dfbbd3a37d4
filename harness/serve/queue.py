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
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import sqlalchemy as sql
from sqlalchemy.engine import Connection, Row

from harness.errors import MachineError, UsageError
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
    sql.Index("by_state", "state", "config", "rank", "number"),
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
)
_OF_A_JOB = [column for column in _JOB.c if column.name not in ("record", "digest")]


class QueueFull(Exception):
    """The queue takes no more jobs for now."""


class Conflict(Exception):
    """The request doesn't fit to what there is."""


class BegunJob:
    """A job that was begun."""

    def __init__(self, row: Row[Any]) -> None:
        self.id: str = row.id
        self.owner: str = row.owner
        self.attempts: int = row.attempts
        self.asked = Submission.model_validate_json(row.body)


class JobQueue:
    """A context manager: one process has a queue's file at a time. Its methods may be called from any thread."""

    def __init__(self, path: Path, most: int = 100_000) -> None:
        """`most` jobs may wait. Raises: MachineError where the file can't be used, or another server has it."""
        path.parent.mkdir(parents=True, exist_ok=True)
        self._lock_file = path.with_name(f"{path.name}.lock").open("w")
        try:
            fcntl.flock(self._lock_file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._lock_file.close()
            raise MachineError(f"{path}: another server has this queue; end it, or name another --queue") from None
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))  # who reads it reads every solution
        self._most = most
        self._lock = threading.Lock()
        self._changed = threading.Condition()
        self._engine = sql.create_engine(f"sqlite:///{path}", connect_args={"timeout": 60})
        sql.event.listen(self._engine, "connect", _make_durable)
        try:
            _META.create_all(self._engine)
            with self._engine.begin() as connection:
                connection.execute(sql.update(_JOB).where(_JOB.c.state == "running").values(state="queued"))
        except sql.exc.DatabaseError as error:
            self.close()
            raise MachineError(f"{path}: {error.orig}; name another --queue") from error

    def close(self) -> None:
        self._engine.dispose()
        self._lock_file.close()

    def __enter__(self) -> JobQueue:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def accept(self, owner: str, asked: Sequence[Submission]) -> list[QueuedJob]:
        """Accept all, or none. Raises: QueueFull; Conflict where a key is taken by another job."""
        rows = []
        with self._writing() as connection:
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
                    "config": one.config or "",
                    "rank": -one.priority,
                    "state": "queued",
                    "attempts": 0,
                    "submitted_at": time.time(),
                    "is_kept": False,
                }
                connection.execute(sql.insert(_JOB).values(values))
                rows.append(_change(connection, job, state="queued"))
            waiting = connection.execute(sql.select(sql.func.count()).where(_JOB.c.state == "queued")).scalar_one()
            if waiting > self._most:
                raise QueueFull(f"{waiting - len(asked)} jobs wait, and {self._most} may")
        self._tell()
        return [_job(row) for row in rows]

    def take(self, config: str) -> BegunJob | None:
        """Begin the next job of a config."""
        with self._writing() as connection:
            waiting = sql.select(_JOB).where(_JOB.c.state == "queued", _JOB.c.config == config)
            chosen = waiting.order_by(_JOB.c.rank, _JOB.c.number).limit(1)
            row = connection.execute(chosen).first()
            if row is None:
                return None
            values = {"state": "running", "attempts": row.attempts + 1, "started_at": time.time()}
            row = _change(connection, row.id, **values)
        self._tell()
        return BegunJob(row)

    def requeue(self, config: str) -> None:
        """Queue anew what was begun of a config."""
        with self._writing() as connection:
            begun = sql.select(_JOB.c.id).where(_JOB.c.state == "running", _JOB.c.config == config)
            for job in connection.execute(begun).scalars().all():
                _change(connection, job, state="queued")
        self._tell()

    def give_back(self, job: str) -> None:
        """Queue a job anew that was begun, since the machine failed."""
        with self._writing() as connection:
            if (row := _find(connection, _JOB.c.id == job)) and row.state == "running":
                _change(connection, job, state="queued")
        self._tell()

    def finish(self, job: str, evaluation: str, verdict: str, record: str) -> None:
        with self._writing() as connection:
            values = {"evaluation": evaluation, "verdict": verdict, "record": record, "finished_at": time.time()}
            _change(connection, job, state="done", **values)
        self._tell()

    def fail(self, job: str, error: str) -> None:
        with self._writing() as connection:
            _change(connection, job, state="failed", error=error, finished_at=time.time())
        self._tell()

    def cancel(self, owner: str, job: str) -> QueuedJob:
        """Raises: UsageError for an unknown job; Conflict for one that was begun."""
        with self._writing() as connection:
            row = self._own(connection, owner, job)
            if row.state not in ("queued", "cancelled"):
                raise Conflict(f"{job} is {row.state}: only what waits can be cancelled")
            if row.state == "queued":
                row = _change(connection, job, state="cancelled", finished_at=time.time())
        self._tell()
        return _job(row)

    def job(self, owner: str, job: str) -> QueuedJob:
        """Raises: UsageError for an unknown job."""
        with self._engine.connect() as connection:
            return _job(self._own(connection, owner, job))

    def jobs(self, owner: str, state: JobState | None, limit: int) -> list[QueuedJob]:
        """The newest first."""
        chosen = sql.select(*_OF_A_JOB).where(_JOB.c.owner == owner).order_by(_JOB.c.number.desc()).limit(limit)
        if state is not None:
            chosen = chosen.where(_JOB.c.state == state)
        with self._engine.connect() as connection:
            return [_job(row) for row in connection.execute(chosen)]

    def record(self, owner: str, job: str) -> str:
        """The journal's line of a job. Raises: UsageError for an unknown one; Conflict where there is none."""
        with self._engine.connect() as connection:
            row = self._own(connection, owner, job)
        if row.record is None:
            raise Conflict(f"{job} is {row.state}: it has no record{f' ({row.error})' if row.error else ' yet'}")
        return str(row.record)

    def wait(self, timeout_s: float) -> None:
        """Wait until anything changes, or so long."""
        with self._changed:
            self._changed.wait(timeout_s)

    def events(self, owner: str, after: int, limit: int = 1_000) -> list[dict[str, Any]]:
        """Changes of state since an event's number."""
        chosen = sql.select(_EVENT).where(_EVENT.c.owner == owner, _EVENT.c.number > after)
        with self._engine.connect() as connection:
            found = connection.execute(chosen.order_by(_EVENT.c.number).limit(limit)).all()
        return [{"number": row.number, "job": row.job, "state": row.state, "verdict": row.verdict} for row in found]

    def counts(self) -> dict[str, int]:
        """Jobs of everybody's by state."""
        chosen = sql.select(_JOB.c.state, sql.func.count()).group_by(_JOB.c.state)
        with self._engine.connect() as connection:
            return {row[0]: row[1] for row in connection.execute(chosen)}

    def verdicts(self) -> dict[str, int]:
        """Finished jobs of everybody's by verdict."""
        chosen = sql.select(_JOB.c.verdict, sql.func.count()).where(_JOB.c.state == "done").group_by(_JOB.c.verdict)
        with self._engine.connect() as connection:
            return {row[0]: row[1] for row in connection.execute(chosen)}

    def configs(self) -> list[str]:
        """The configs of what waits; '' is the server's own."""
        chosen = sql.select(_JOB.c.config).where(_JOB.c.state == "queued").distinct()
        with self._engine.connect() as connection:
            return list(connection.execute(chosen).scalars())

    def unkept(self) -> list[tuple[str, str]]:
        """Job and record of what is finished and not known to be in the journal."""
        chosen = sql.select(_JOB.c.id, _JOB.c.record).where(_JOB.c.state == "done", _JOB.c.is_kept.is_(False))
        with self._engine.connect() as connection:
            return [(row.id, row.record) for row in connection.execute(chosen.order_by(_JOB.c.number))]

    def keep(self, job: str) -> None:
        """Note that its record is in the journal."""
        with self._writing() as connection:
            connection.execute(sql.update(_JOB).where(_JOB.c.id == job).values(is_kept=True))

    @contextmanager
    def _writing(self) -> Iterator[Connection]:
        """One transaction at a time. Raises: MachineError where it can't be written."""
        try:
            with self._lock, self._engine.begin() as connection:
                yield connection
        except sql.exc.OperationalError as error:
            raise MachineError(f"the queue can't be written: {error.orig}; free space") from error

    def _own(self, connection: Connection, owner: str, job: str) -> Row[Any]:
        if (row := _find(connection, _JOB.c.id == job, _JOB.c.owner == owner)) is None:
            raise UsageError(f"no job {job!r} of yours")
        return row

    def _tell(self) -> None:
        with self._changed:
            self._changed.notify_all()


def _make_durable(connection: Any, _: object) -> None:
    cursor = connection.cursor()
    cursor.execute("PRAGMA journal_mode=WAL")
    cursor.execute("PRAGMA synchronous=FULL")
    cursor.close()


def _find(connection: Connection, *where: sql.ColumnElement[bool]) -> Row[Any] | None:
    return connection.execute(sql.select(_JOB).where(*where)).first()


def _change(connection: Connection, job: str, **values: Any) -> Row[Any]:
    connection.execute(sql.update(_JOB).where(_JOB.c.id == job).values(**values))
    row = _find(connection, _JOB.c.id == job)
    assert row is not None
    _note(connection, row.owner, job, row.state, row.verdict)
    return row


def _note(connection: Connection, owner: str, job: str, state: str, verdict: str | None = None) -> None:
    connection.execute(sql.insert(_EVENT).values(owner=owner, job=job, state=state, verdict=verdict))


def _job(row: Row[Any]) -> QueuedJob:
    asked = Submission.model_validate_json(row.body)
    problem = "text" if "\n" in asked.problem else asked.problem
    facts = {name: getattr(row, name) for name in _SAME}
    return QueuedJob(problem=problem, name=asked.name, config=asked.config, priority=asked.priority, **facts)


_SAME = (
    *("id", "state", "key", "attempts", "submitted_at", "started_at", "finished_at", "verdict"),
    *("evaluation", "error"),
)
"""Columns that a job's message has under the same names."""
