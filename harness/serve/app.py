"""The door itself: routes, limits, metrics and a small page."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any

from fastapi import Depends, FastAPI, Header, HTTPException, Query, Request, Response
from fastapi.responses import HTMLResponse, JSONResponse, PlainTextResponse, StreamingResponse
from starlette.concurrency import run_in_threadpool
from starlette.types import ASGIApp, Message, Receive, Scope, Send

import harness
from harness.errors import HarnessError, MachineError, UsageError
from harness.serve.access import Access, Owner
from harness.serve.judges import Judges
from harness.serve.messages import ENDED, Batch, JobList, JobState, QueuedJob
from harness.serve.queue import Conflict, JobQueue, QueueFull
from harness.workspace.workspace import Workspace

_PERIOD_S = 0.2
_HEARTBEAT_S = 15.0
_LONGEST_WAIT_S = 60.0


@dataclass(frozen=True)
class Limits:
    """Bounds on what one request may bring, and on what may wait."""

    body_bytes: int = 4 * 2**20
    queued: int = 100_000


def create_app(queue: JobQueue, judges: Judges, workspace: Path, access: Access, limits: Limits = Limits()) -> FastAPI:
    """The application, for a server such as uvicorn. `queue` and `judges` are open, and stay so as long as it runs."""
    app = FastAPI(
        title="harness",
        version=harness.__version__,
        description="Judges GPU kernels: submit jobs, follow them, fetch their evaluations.",
    )
    app.add_middleware(_BodyLimit, most=limits.body_bytes)
    names = Workspace(workspace)

    def owner_of(authorization: Annotated[str | None, Header()] = None) -> Owner:
        owner = access.owner(authorization)
        if owner is None:
            raise HTTPException(401, "send 'Authorization: Bearer TOKEN'", {"WWW-Authenticate": "Bearer"})
        return owner

    asking = Depends(owner_of)

    @app.exception_handler(UsageError)
    def unknown(_: Request, error: UsageError) -> JSONResponse:
        return JSONResponse({"detail": str(error)}, 404)

    @app.exception_handler(Conflict)
    def conflict(_: Request, error: Conflict) -> JSONResponse:
        return JSONResponse({"detail": str(error)}, 409)

    @app.exception_handler(MachineError)
    def unable(_: Request, error: MachineError) -> JSONResponse:
        return JSONResponse({"detail": str(error)}, 503, {"Retry-After": "60"})

    @app.post("/jobs", status_code=202)
    def submit(batch: Batch, owner: Owner = asking) -> JobList:
        """Accept jobs, all or none: what is answered with 202 survives a restart of the server."""
        for number, one in enumerate(batch.jobs):
            if why := _why_unfit(names, one.problem, one.config, one.cases, owner):
                raise HTTPException(422, f"jobs[{number}]: {why}")
        if wait_s := access.wait_s(owner.name, len(batch.jobs)):
            raise HTTPException(429, "too many jobs a minute", {"Retry-After": str(int(wait_s) + 1)})
        try:
            return JobList(jobs=tuple(queue.accept(owner.name, batch.jobs)))
        except QueueFull as error:
            raise HTTPException(503, f"the queue is full: {error}", {"Retry-After": "60"}) from None

    @app.get("/jobs")
    def jobs(
        state: JobState | None = None, limit: Annotated[int, Query(ge=1, le=1_000)] = 100, owner: Owner = asking
    ) -> JobList:
        """Your jobs, the newest first."""
        return JobList(jobs=tuple(queue.jobs(owner.name, state, limit)))

    @app.get("/jobs/{job}")
    async def one_job(
        job: str, wait: Annotated[float, Query(ge=0, le=_LONGEST_WAIT_S)] = 0.0, owner: Owner = asking
    ) -> QueuedJob:
        """A job as it stands; with `wait` not before it has ended, or so many seconds have passed."""
        until = asyncio.get_running_loop().time() + wait
        while True:
            found = await run_in_threadpool(queue.job, owner.name, job)
            if found.state in ENDED or asyncio.get_running_loop().time() >= until:
                return found
            await asyncio.sleep(_PERIOD_S)

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
        after: Annotated[int, Query(ge=0, description="The number of the last event that you have.")] = 0,
        last_event_id: Annotated[int | None, Header()] = None,
        owner: Owner = asking,
    ) -> StreamingResponse:
        """Changes of your jobs' states as they come (server-sent events), from any number on."""
        stream = _events(queue, owner.name, last_event_id if last_event_id is not None else after)
        return StreamingResponse(stream, media_type="text/event-stream", headers={"Cache-Control": "no-store"})

    @app.get("/health")
    def health() -> JSONResponse:
        """Say whether jobs are judged just now; needs no token."""
        troubles = judges.troubles
        is_well = judges.is_alive and not troubles
        said: dict[str, Any] = {
            "status": "ok" if is_well else "failing",
            "jobs": queue.counts(),
            "version": harness.__version__,
        }
        if not access.needs_token:
            said["troubles"] = troubles
        return JSONResponse(said, 200 if is_well else 503)

    @app.get("/metrics")
    def metrics() -> PlainTextResponse:
        """Prometheus' text format; needs no token."""
        return PlainTextResponse(_metrics(queue, judges), media_type="text/plain; version=0.0.4")

    @app.get("/", include_in_schema=False)
    def page() -> HTMLResponse:
        text = files("harness.serve").joinpath("page.html").read_text(encoding="utf-8")
        return HTMLResponse(text, headers={"Content-Security-Policy": "default-src 'self' 'unsafe-inline'"})

    return app


def _why_unfit(
    workspace: Workspace, problem: str, config: str | None, cases: tuple[str, ...], owner: Owner
) -> str | None:
    """Why a job can't be accepted; None where it can."""
    try:
        if config is not None:
            if "/" in config or config not in _configs(workspace):
                return f"no config {config!r} here; there are: {', '.join(_configs(workspace)) or 'none'}"
            workspace.config(config)
        if "\n" in problem:
            return None if owner.may_send_problems else "this token may name problems, and not send their text"
        known = workspace.problem(problem).cases
    except HarnessError as error:
        return str(error)
    unknown = [case for case in cases if case not in known]
    return f"no case {unknown[0]!r}; there are: {', '.join(known)}" if unknown else None


def _configs(workspace: Workspace) -> list[str]:
    return sorted(path.stem for path in (workspace.root / "configs").glob("*.yaml"))


async def _events(queue: JobQueue, owner: str, after: int) -> AsyncIterator[str]:
    """Read what there is from the queue's file, however slow the reader: nothing piles up here."""
    silent_s = 0.0
    while True:
        found = await run_in_threadpool(queue.events, owner, after)
        for event in found:
            after = event.pop("number")
            yield f"id: {after}\nevent: job\ndata: {json.dumps(event)}\n\n"
        if found:
            silent_s = 0.0
            continue
        await asyncio.sleep(_PERIOD_S)
        silent_s += _PERIOD_S
        if silent_s >= _HEARTBEAT_S:
            silent_s = 0.0
            yield ": still here\n\n"


def _metrics(queue: JobQueue, judges: Judges) -> str:
    lines = ["# HELP harness_jobs Jobs by state.", "# TYPE harness_jobs gauge"]
    lines += [f'harness_jobs{{state="{state}"}} {count}' for state, count in sorted(queue.counts().items())]
    lines += ["# HELP harness_verdicts_total Judged jobs by verdict.", "# TYPE harness_verdicts_total counter"]
    lines += [f'harness_verdicts_total{{verdict="{name}"}} {n}' for name, n in sorted(queue.verdicts().items())]
    lines += ["# HELP harness_up Whether jobs are judged just now.", "# TYPE harness_up gauge"]
    lines.append(f"harness_up {int(judges.is_alive and not judges.troubles)}")
    return "\n".join(lines) + "\n"


class _BodyLimit:
    """Refuses bodies that are too large, said to be or found to be, before they are read whole."""

    def __init__(self, app: ASGIApp, most: int) -> None:
        self._app = app
        self._most = most

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        said = dict(scope["headers"]).get(b"content-length", b"0")
        if not said.isdigit() or int(said) > self._most:
            await self._refuse(scope, receive, send)
            return
        body, more = b"", scope["method"] in ("POST", "PUT", "PATCH")
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                return
            body += message.get("body", b"")
            more = message.get("more_body", False)
            if len(body) > self._most:
                await self._refuse(scope, receive, send)
                return
        is_told = False

        async def from_here() -> Message:
            nonlocal is_told
            if is_told:
                return await receive()
            is_told = True
            return {"type": "http.request", "body": body, "more_body": False}

        await self._app(scope, from_here, send)

    async def _refuse(self, scope: Scope, receive: Receive, send: Send) -> None:
        refusal = JSONResponse({"detail": f"a request has at most {self._most} bytes"}, 413, {"Connection": "close"})
        await refusal(scope, receive, send)
