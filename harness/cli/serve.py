"""`harness serve`: judge what others send over HTTP."""

from __future__ import annotations

import ipaddress
import socket
from pathlib import Path
from typing import Annotated

import typer

import harness
from harness.cli.options import BackendOption, ConfigName, RequireConfinement, ResultsFolder
from harness.cli.printing import say
from harness.cli.signals import end_politely
from harness.errors import MachineError, UsageError
from harness.model.plural import several

_NEEDS = "fastapi, fastapi-offline, uvicorn, sqlalchemy and httpx"


def serve(
    host: Annotated[
        str, typer.Option(metavar="ADDRESS", help="Where to listen. Beyond this machine: with --tokens.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, metavar="N", help="0 takes a free one.")] = 8300,
    tokens: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Who may ask: owners: {NAME: {token: …}} in YAML.")
    ] = None,
    backend: BackendOption = "auto",
    config: ConfigName = None,
    require_confinement: RequireConfinement = None,
    results: ResultsFolder = None,
    queue: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The queue's file. Default: queue.sqlite in results.")
    ] = None,
    most_queued: Annotated[int, typer.Option(min=1, metavar="N", help="Jobs that may wait.")] = 100_000,
    most_mib: Annotated[int, typer.Option(min=1, metavar="MIB", help="The largest request.")] = 4,
    jobs_a_minute: Annotated[int | None, typer.Option(min=1, metavar="N", help="For each token.")] = None,
    keep_days: Annotated[
        int, typer.Option(min=1, metavar="N", help="Days after which the queue forgets what has ended; records stay.")
    ] = 30,
) -> None:
    """Judge what others send over HTTP, from a queue that survives a restart.

    Ctrl-C ends it; what was under way is judged anew after the next start. The API is described at /docs.

    Example: harness serve --config quick
    """
    workspace = harness.find_workspace()
    if tokens is None and not _is_this_machine(host):
        raise UsageError(f"--host {host} lets others in: name those who may ask, --tokens FILE (docs/serve.md)")
    workspace.config(config)  # before anything is opened
    try:
        import uvicorn

        from harness.serve import Access, JobQueue, Judge, create_app, read_tokens
    except ImportError as error:
        raise MachineError(
            f"serve needs {_NEEDS} ({error.name} is missing): pip install 'kernel-harness[serve]'"
        ) from None
    access = Access(read_tokens(tokens) if tokens else {}, jobs_a_minute)
    end_politely(then_at_once=True)
    folder = (results or workspace.results).absolute()
    with (
        JobQueue((queue or folder / "queue.sqlite").absolute(), most_queued) as jobs,
        Judge(jobs, workspace.root, folder, backend, config, keep_days, require_confinement) as judge,
        _listening(host, port) as door,
    ):
        app = create_app(jobs, judge, workspace.root, access, most_mib * 2**20)
        waiting = jobs.counts().get("queued", 0)
        named = f"[{host}]" if ":" in host else host
        say(f"listening on http://{named}:{door.getsockname()[1]}; {several(waiting, 'job')} waiting")
        server = uvicorn.Server(uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=2))
        try:
            server.run(sockets=[door])
        finally:
            say("ending: what is under way is judged anew after the next start")
        if not server.started:
            raise MachineError("the server could not start: what it printed says why")
        raise KeyboardInterrupt  # what ended it, though a shell that starts it in the background has it ignored


def _is_this_machine(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _listening(host: str, port: int) -> socket.socket:
    """Raises: MachineError where the address can't be had."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    door = socket.socket(family)
    door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        door.bind((host, port))
        door.listen(1024)  # whoever is told of it may come at once
    except OSError as error:
        door.close()
        raise MachineError(f"can't listen on {host}:{port}: {error.strerror}; name another --port") from None
    return door
