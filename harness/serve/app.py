"""The door itself: routes, limits, metrics and a small page."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any

from fastapi import Depends, FastAPI, Header, HTTPException, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse, PlainTextResponse, StreamingResponse
from fastapi_offline import FastAPIOffline
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

import harness
from harness.errors import HarnessError, MachineError, UsageError
from harness.serve.access import Access, Owner
from harness.serve.judges import Judge
from harness.serve.messages import ENDED, Batch, JobList, JobState, QueuedJob
from harness.serve.queue import Conflict, JobQueue
from harness.workspace.workspace import Workspace

_GATHERED_S = 0.02
"""Changes within so much time are told together."""
_HEARTBEAT_S = 15.0
_LONGEST_WAIT_S = 60.0
_LARGEST = 2**63 - 1
_DISCARDED = 2**26
"""Bytes above the limit that are read before they are refused."""
_MOST_FAULTS = 10
_LONGEST_NAME = 200
_HERE = ("127.0.0.1", "localhost", "::1")


def create_app(queue: JobQueue, judge: Judge, workspace: Path, access: Access, most_bytes: int = 4 * 2**20) -> FastAPI:
    """The application, for a server such as uvicorn. `queue` and `judge` are open, and stay so as long as it runs. A
    request has `most_bytes`."""
    app = FastAPIOffline(
        title="harness",
        version=harness.__version__,
        description="Judges GPU kernels: submit jobs, follow them, fetch their evaluations.",
    )
    app.add_middleware(_Doorkeeper, most=most_bytes, is_local=not access.needs_token)
    names = Workspace(workspace)

    def owner_of(authorization: Annotated[str | None, Header()] = None) -> Owner:
        owner = access.owner(authorization)
        if owner is None:
            raise HTTPException(401, "send 'Authorization: Bearer TOKEN'", {"WWW-Authenticate": "Bearer"})
        return owner

    asking = Depends(owner_of)

    app.add_exception_handler(RequestValidationError, _unfit)
    for kind, status in ((UsageError, 404), (Conflict, 409), (MachineError, 503)):
        app.add_exception_handler(kind, partial(_refused, status, workspace))

    def as_it_stands(job: QueuedJob) -> QueuedJob:
        doing = judge.doing.get(job.id) if job.state == "running" else None
        return job.model_copy(update={"doing": doing}) if doing else job

    @app.post("/jobs", status_code=202)
    def submit(batch: Batch, owner: Owner = asking) -> JobList:
        """Accept jobs, all or none: what is answered with 202 survives a restart of the server."""
        known: dict[tuple[str, str | None, tuple[str, ...]], str | None] = {}
        for number, one in enumerate(batch.jobs):
            asked = (one.problem, one.config, one.cases)
            if asked not in known:
                known[asked] = _why_unfit(names, *asked, owner)
            if why := known[asked]:
                raise HTTPException(422, f"jobs[{number}]: {_shown(why, workspace)}")
        if access.is_beyond(len(batch.jobs)):
            raise HTTPException(422, f"jobs: {len(batch.jobs)} at once are more than may be sent in a minute")
        if wait_s := access.wait_s(owner.name, len(batch.jobs)):
            raise HTTPException(429, "too many jobs a minute", {"Retry-After": str(int(wait_s) + 1)})
        return JobList(jobs=tuple(queue.accept(owner.name, batch.jobs)))

    @app.get("/jobs")
    def jobs(
        state: JobState | None = None, limit: Annotated[int, Query(ge=1, le=1_000)] = 100, owner: Owner = asking
    ) -> JobList:
        """Your jobs, the newest first."""
        return JobList(jobs=tuple(map(as_it_stands, queue.jobs(owner.name, state, limit))))

    @app.get("/jobs/{job}")
    async def one_job(
        job: str, wait: Annotated[float, Query(ge=0, le=_LONGEST_WAIT_S)] = 0.0, owner: Owner = asking
    ) -> QueuedJob:
        """A job as it stands; with `wait` not before it has ended, or so many seconds have passed."""
        until = asyncio.get_running_loop().time() + wait
        with queue.bell.heard(owner.name) as changed:
            while True:
                changed.clear()
                found = await run_in_threadpool(queue.job, owner.name, job)
                left_s = until - asyncio.get_running_loop().time()
                if found.state in ENDED or left_s <= 0:
                    return as_it_stands(found)
                await _change_within(changed, left_s)

    @app.delete("/jobs/{job}")
    def cancel(job: str, owner: Owner = asking) -> QueuedJob:
        """Cancel a job that waits."""
        return queue.cancel(owner.name, job)

    @app.get("/jobs/{job}/evaluation")
    def evaluation(job: str, owner: Owner = asking) -> Response:
        """The record of a job that is done, as the journal has it."""
        return Response(queue.record(owner.name, job), media_type="application/json")

    @app.get("/events")
    async def events(
        after: Annotated[int, Query(ge=0, le=_LARGEST, description="The number of the last event that you have.")] = 0,
        last_event_id: Annotated[int | None, Header(ge=0, le=_LARGEST)] = None,
        owner: Owner = asking,
    ) -> StreamingResponse:
        """Changes of your jobs' states as they come (server-sent events), from any number on."""
        stream = _events(queue, owner.name, last_event_id if last_event_id is not None else after)
        return StreamingResponse(stream, media_type="text/event-stream", headers={"Cache-Control": "no-store"})

    @app.get("/health")
    def health() -> JSONResponse:
        """Say whether jobs are judged just now; needs no token."""
        troubles = judge.troubles
        is_well = not troubles
        said: dict[str, Any] = {
            "status": "ok" if is_well else "failing",
            "jobs": queue.counts(),
            "doing": sorted(judge.doing.values()),
            "version": harness.__version__,
        }
        if not access.needs_token:
            said["troubles"] = troubles
        return JSONResponse(said, 200 if is_well else 503)

    @app.get("/metrics")
    def metrics() -> PlainTextResponse:
        """Prometheus' text format; needs no token."""
        return PlainTextResponse(_metrics(queue, judge), media_type="text/plain; version=0.0.4")

    @app.get("/", include_in_schema=False)
    def page() -> HTMLResponse:
        text = files("harness.serve").joinpath("page.html").read_text(encoding="utf-8")
        return HTMLResponse(text, headers={"Content-Security-Policy": "default-src 'self' 'unsafe-inline'"})

    return app


def _unfit(_: Request, error: Exception) -> JSONResponse:
    """The first few faults, without what was sent: that may be large, and no text. A list whose items are faulty counts
    as empty besides, which is left out."""
    assert isinstance(error, RequestValidationError)
    first = error.errors()[:_MOST_FAULTS]
    within = {one["loc"][:length] for one in first for length in range(len(one["loc"]))}
    faults = [f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in first if one["loc"] not in within]
    return JSONResponse({"detail": "; ".join(faults).replace("a valid tuple", "a list")}, 422)  # JSON has no tuples


def _refused(status: int, workspace: Path, _: Request, error: Exception) -> JSONResponse:
    headers = {"Retry-After": "60"} if status == 503 else None
    return JSONResponse({"detail": _shown(str(error), workspace)}, status, headers)


def _shown(text: str, workspace: Path) -> str:
    """Leave out where the workspace lies: that is nobody's business."""
    return text.replace(f"{workspace}/", "")


def _why_unfit(
    workspace: Workspace, problem: str, config: str | None, cases: tuple[str, ...], owner: Owner
) -> str | None:
    """Why a job can't be accepted; None where it can."""
    try:
        if config is not None:
            if config not in workspace.config_names():
                return f"no config {config!r} here; there are: {', '.join(workspace.config_names()) or 'none'}"
            workspace.config(config)
        if "\n" in problem:
            return None if owner.may_send_problems else "this token may name problems, and not send their text"
        if len(problem) > _LONGEST_NAME:
            return "no problem has so long a name; a text has a line break"
        known = workspace.problem(problem).cases
    except HarnessError as error:
        return str(error)
    unknown = [case for case in cases if case not in known]
    return f"no case {unknown[0]!r}; there are: {', '.join(known)}" if unknown else None


async def _events(queue: JobQueue, owner: str, after: int) -> AsyncIterator[str]:
    """Read what there is from the queue's file, however slow the reader: nothing piles up here."""
    with queue.bell.heard(owner) as changed:
        while True:
            changed.clear()
            found = await run_in_threadpool(queue.events, owner, after)
            for event in found:
                after = event.pop("number")
                yield f"id: {after}\nevent: job\ndata: {json.dumps(event)}\n\n"
            if not found and not await _change_within(changed, _HEARTBEAT_S):
                yield ": still here\n\n"


async def _change_within(changed: asyncio.Event, seconds: float) -> bool:
    """Wait for a change, and for those that come right after it; return whether there was one."""
    try:
        await asyncio.wait_for(changed.wait(), seconds)
    except asyncio.TimeoutError:
        return False
    await asyncio.sleep(_GATHERED_S)
    return True


def _metrics(queue: JobQueue, judge: Judge) -> str:
    lines = ["# HELP harness_jobs Jobs by state.", "# TYPE harness_jobs gauge"]
    lines += [f'harness_jobs{{state="{state}"}} {count}' for state, count in sorted(queue.counts().items())]
    lines += ["# HELP harness_verdicts_total Judged jobs by verdict.", "# TYPE harness_verdicts_total counter"]
    lines += [f'harness_verdicts_total{{verdict="{name}"}} {n}' for name, n in sorted(queue.verdicts().items())]
    lines += ["# HELP harness_up Whether jobs are judged just now.", "# TYPE harness_up gauge"]
    lines.append(f"harness_up {int(not judge.troubles)}")
    return "\n".join(lines) + "\n"


class _Doorkeeper:
    """Refuses, before anything is read whole, bodies that are too large or no JSON; and on a server that asks for no
    token whatever a page in the user's browser may have sent: it names another host or comes from another origin."""

    def __init__(self, app: ASGIApp, most: int, is_local: bool) -> None:
        self._app = app
        self._most = most
        self._is_local = is_local

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        if self._is_local and not _is_from_here(headers):
            await _refuse(403, "this server is for programs of this machine: ask it as 127.0.0.1", scope, receive, send)
            return
        if scope["method"] != "POST":
            await self._app(scope, receive, send)
            return
        if headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
            await _refuse(415, "send Content-Type: application/json", scope, receive, send)
            return
        said = headers.get("content-length", "0")
        size = int(said) if said.isdigit() else self._most + _DISCARDED
        is_too_large = size > self._most
        # A client that sends without waiting may not see an answer that comes before it has sent all.
        has_more = size < self._most + _DISCARDED and not (is_too_large and "expect" in headers)
        pieces, size = [], 0
        while has_more and size < self._most + _DISCARDED:
            message = await receive()
            if message["type"] == "http.disconnect":
                return
            size += len(message.get("body", b""))
            is_too_large |= size > self._most
            pieces.append(message.get("body", b""))
            if is_too_large:
                pieces.clear()
            has_more = message.get("more_body", False)
        if is_too_large:
            await _refuse(413, f"a request has at most {self._most} bytes", scope, receive, send)
            return
        whole: list[Message] = [{"type": "http.request", "body": b"".join(pieces), "more_body": False}]

        async def from_here() -> Message:
            return whole.pop() if whole else await receive()

        await self._app(scope, from_here, send)


def _is_from_here(headers: Headers) -> bool:
    named = [headers.get("host", ""), *([headers["origin"].partition("//")[2]] if "origin" in headers else [])]
    hosts = [one.rpartition(":")[0] if one.rpartition(":")[2].isdigit() else one for one in named]
    return all(host.strip("[]") in _HERE for host in hosts)


async def _refuse(status: int, why: str, scope: Scope, receive: Receive, send: Send) -> None:
    await JSONResponse({"detail": why}, status, {"Connection": "close"})(scope, receive, send)
