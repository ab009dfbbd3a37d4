"""The sandbox of a worker: all that its confinement depends on, as the referee writes it down."""

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
    either.
    """

    folder: str
    hidden: tuple[str, ...]
    home: str
    referee: int
    for_build: bool = False
    builds_texts: bool = False

    def to_argument(self) -> str:
        return json.dumps(asdict(self))

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
