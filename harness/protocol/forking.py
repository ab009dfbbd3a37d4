"""What the referee asks of a fork server, and what that answers."""

from __future__ import annotations

from dataclasses import dataclass

from harness.protocol.cell import Cell


@dataclass(frozen=True)
class Fork:
    """Become a worker in a child. Beside it travel two descriptors: the worker's end of its private socket, and what
    takes its output. `environment`, with a MARK, comes on top of the server's own."""

    cell: Cell
    environment: dict[str, str]
    cpus: tuple[int, ...]
    nice: int


@dataclass(frozen=True)
class Forked:
    pid: int


@dataclass(frozen=True)
class Reap:
    """Of a child that has ended: until then its number is nobody else's."""

    pid: int


@dataclass(frozen=True)
class Reaped:
    """`code` as subprocess has it: negative for a signal."""

    code: int


REQUESTS: dict[str, type] = {kind.__name__: kind for kind in (Fork, Reap)}
REPLIES: dict[str, type] = {kind.__name__: kind for kind in (Forked, Reaped)}

MARK = "HARNESS_WORKER"
"""The variable that names the worker in the environment of all that it starts, so that what outlives it is found."""
NO_MARK = "0" * 32
"""What a fork server has in its place, as long as a mark: its children write theirs over it, for /proc shows the
environment that a process was started with."""
