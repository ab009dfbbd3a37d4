"""The names of the means that confine a worker, and how far they do together."""

from __future__ import annotations

import os
from collections.abc import Collection
from typing import Literal

READ_ONLY_FILES = "read-only files"
"""A worker writes to its own scratch alone, and no other worker writes there."""
OWN_USER = "own user"
OWN_MOUNTS = "own mounts"
DROPPED_RIGHTS = "dropped rights"
BUBBLEWRAP = "bubblewrap"
SCOPED_SIGNALS = "scoped signals"
FILTERED_CALLS = "filtered system calls"
NO_NETWORK = "no network"
LIMITS = "resource limits"
CONTAINER = "container"
"""All of harness is in one, which `--container` has started."""

IN_CONTAINER = "HARNESS_IN_CONTAINER"
"""The variable that says so in there."""
_MARKS = ("/run/.containerenv", "/.dockerenv")
"""The files that podman and Docker leave in a container."""

Level = Literal["none", "files", "full", "container"]
LEVELS: tuple[Level, ...] = ("none", "files", "full", "container")
"""Each keeps more from a solution than those before (SECURITY.md)."""


def is_in_container() -> bool:
    """Say whether this process is in one that `--container` has started."""
    return bool(os.environ.get(IN_CONTAINER)) and any(map(os.path.exists, _MARKS))


def is_at_least(level: Level, least: Level) -> bool:
    """Compare two levels."""
    return LEVELS.index(level) >= LEVELS.index(least)


def level_of(means: Collection[str]) -> Level:
    """The level that these means amount to."""
    if READ_ONLY_FILES not in means:
        return "files" if BUBBLEWRAP in means else "none"
    is_apart = OWN_USER in means or SCOPED_SIGNALS in means
    if not is_apart or not {FILTERED_CALLS, NO_NETWORK} <= set(means):
        return "files"
    return "container" if CONTAINER in means else "full"
