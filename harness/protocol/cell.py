"""Where a worker lives, as the referee tells it on the command line: all that its confinement depends on."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass(frozen=True)
class Cell:
    """`folder` is the worker's own (protocol.layout); `hidden` are folders of which it may read nothing but what a
    Python environment or a compiler needs, and so are entries of `home`, the user's, that begin with a dot; `referee`
    is the process that started it."""

    folder: str
    hidden: tuple[str, ...]
    home: str
    referee: int

    def to_argument(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_argument(cls, text: str) -> Cell:
        facts = json.loads(text)
        return cls(facts["folder"], tuple(facts["hidden"]), facts["home"], facts["referee"])

    @property
    def path(self) -> Path:
        return Path(self.folder)


FIRST_USER = 2**30
"""Users of workers begin here, far above a machine's and its containers' (login.defs(5), subuid(5))."""


def user_of(worker: int) -> int:
    """The user of its own that a worker may have. Processes have 22 bits (proc_sys_kernel(5)), so no two living workers
    share one."""
    return FIRST_USER + worker
