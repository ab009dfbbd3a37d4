"""Messages through the door: a job as it is asked for, and how it stands."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from harness.api.loading import source_name

JobState = Literal["queued", "running", "done", "cancelled", "failed"]
"""`done`: there is an evaluation, whatever its verdict. `failed`: there can be none, and `error` says why."""

ENDED: tuple[JobState, ...] = ("done", "cancelled", "failed")
MOST_JOBS = 1_000
"""The most jobs in one submission."""


class Submission(BaseModel):
    """One solution of one problem, to be judged."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    problem: Annotated[str, Field(min_length=1, description="A problem's name; or its text, with a line break.")]
    solution: Annotated[str, Field(description="The text of solution.py.")]
    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}$")] = ""
    """The solution's name in the record; one that isn't given is made of the text's hash."""
    config: Annotated[str | None, Field(description="A name in the workspace's configs/. None: the server's.")] = None
    cases: Annotated[tuple[str, ...], Field(max_length=100)] = ()
    """Names of the problem's cases; none means all."""
    priority: Annotated[int, Field(ge=-100, le=100, description="Of your jobs, higher ones are judged first.")] = 0
    key: Annotated[str | None, Field(min_length=1, max_length=200)] = None
    """Yours, for this job: who submits the same again under it gets the job that there is."""

    @model_validator(mode="before")
    @classmethod
    def name_by_text(cls, given: object) -> object:
        """Name a text as an Evaluator does, so that two texts are two rows of a leaderboard."""
        if isinstance(given, dict) and isinstance(text := given.get("solution"), str):
            return {"name": source_name(text), **given}
        return given


class Batch(BaseModel):
    """Jobs that are accepted all or none."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    jobs: Annotated[tuple[Submission, ...], Field(min_length=1, max_length=MOST_JOBS)]

    @field_validator("jobs", mode="before")
    @classmethod
    def require_few(cls, given: object) -> object:
        """Refuse a million of them before each is looked at. Raises: ValueError."""
        if isinstance(given, list | tuple) and len(given) > MOST_JOBS:
            raise ValueError(f"at most {MOST_JOBS} at once")
        return given


class QueuedJob(BaseModel):
    """A job as it stands. Times are in seconds since 1970 (UTC)."""

    model_config = ConfigDict(frozen=True)

    id: str
    state: JobState
    problem: Annotated[str, Field(description="Its name; 'text' where it was sent.")]
    name: str
    config: str | None
    priority: int
    key: str | None
    attempts: int
    """Begun so often: more than once after a fault of the machine's."""
    submitted_at: float
    started_at: float | None = None
    finished_at: float | None = None
    verdict: str | None = None
    evaluation: Annotated[str | None, Field(description="The id of its record.")] = None
    error: str | None = None
    doing: Annotated[str | None, Field(description="What is done with it just now.")] = None


class JobList(BaseModel):
    """Several jobs: as they were submitted, or where they are listed the newest first."""

    model_config = ConfigDict(frozen=True)

    jobs: tuple[QueuedJob, ...]
