"""The sandbox of a worker: all that its confinement depends on, as the referee writes it down.

The requests of the referee to a fork server, which starts workers in theirs, and its answers follow.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass(frozen=True)
class Sandbox:
    """The sandbox of a worker. `folder` is the worker's own (wire.layout), or the folder in which a fork server's
    workers have theirs. Of the `hidden` folders a worker may read nothing but what a Python environment or a compiler
    needs, and likewise of entries of `home`, the user's, that begin with a dot. `referee` is the process that it works
    for. A worker `for_build` gets no GPU; one that `builds_texts` gets no file that another worker could have written,
    either. One that `is_apart`, for nothing of CUDA's ties it to others, has a /dev/shm of its own, and no abstract
    Unix sockets but its own.
    """

    folder: str
    hidden: tuple[str, ...]
    home: str
    referee: int
    for_build: bool = False
    builds_texts: bool = False
    is_apart: bool = False

    def to_argument(self) -> str:
        return json.dumps(asdict(self))  # as paths are, whatever their bytes

    @classmethod
    def from_argument(cls, text: str) -> Sandbox:
        facts = json.loads(text)
        return cls(**{**facts, "hidden": tuple(facts["hidden"])})

    @property
    def path(self) -> Path:
        return Path(self.folder)


FIRST_USER = 0x78000000
"""The first of workers' users: above those that sssd makes of a directory's (sssd-ldap(5): up to 2,000,200,000) and
those of systemd's containers (systemd's UIDS-GIDS: up to 0x6FFFFFFF), and below 2^31, which some programs take for a
negative number."""
USERS = 2**22
"""The number of such users."""


def user_of(worker: int) -> int:
    """The user of its own that a worker may have. Processes have 22 bits (proc_sys_kernel(5)), so no two living workers
    share one."""
    return FIRST_USER + worker


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
