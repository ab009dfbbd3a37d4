"""The requests of the referee to a fork server, and its answers."""

from __future__ import annotations

from dataclasses import dataclass

from harness.sandbox.wire.sandbox import Sandbox


@dataclass(frozen=True)
class Fork:
    """Become a worker in a child. Beside it travel two descriptors: the worker's end of its private socket, and what
    takes its output. `environment`, with a MARK, comes on top of the server's own."""

    sandbox: Sandbox
    environment: dict[str, str]
    cpus: tuple[int, ...]
    nice: int


@dataclass(frozen=True)
class Forked:
    pid: int


@dataclass(frozen=True)
class Refused:
    """The machine let no child process start."""

    why: str


@dataclass(frozen=True)
class Reap:
    """Give up a child's number, which is nobody else's until then, if it has ended."""

    pid: int


@dataclass(frozen=True)
class Reaped:
    """The end of a child. `code` is as in subprocess, negative for a signal; it is None where the child, or a thread of
    it, goes on."""

    code: int | None


REQUESTS: dict[str, type] = {kind.__name__: kind for kind in (Fork, Reap)}
REPLIES: dict[str, type] = {kind.__name__: kind for kind in (Forked, Refused, Reaped)}

MARK = "HARNESS_WORKER"
"""The variable that names the worker in the environment of all that it starts, so that what outlives it is found."""
NO_MARK = "0" * 32
"""The value that a fork server has in its place, as long as a mark: its children write theirs over it, for /proc shows
the environment that a process was started with."""
