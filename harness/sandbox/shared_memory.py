"""A worker's files of shared memory: those in the folder of its own that it sees as /dev/shm, and elsewhere in /dev/shm
those of its user. Where it has neither folder nor user of its own nobody can tell whose a file is."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from harness.sandbox.tree import entries_below, remove_tree
from harness.sandbox.user_signal import is_own_user
from harness.sandbox.wire.layout import SHARED_MEMORY


def shared_memory_of(user: int, own: Path | None = None) -> list[Path]:
    """List a worker's files and folders, each folder before what it holds."""
    found = [Path(entry.path) for entry in entries_below(own)] if own else []
    if is_own_user(user):
        for entry in entries_below(SHARED_MEMORY):
            with contextlib.suppress(OSError):
                if entry.stat(follow_symlinks=False).st_uid == user and own not in Path(entry.path).parents:
                    found.append(Path(entry.path))
    return [path for path in found if path != own]


def remove_shared_memory(user: int, own: Path | None = None) -> tuple[str, ...]:
    """Remove them, and the folder of its own; return the names of those that are no folders."""
    found = shared_memory_of(user, own)
    names = tuple(path.name for path in found if path.is_symlink() or not path.is_dir())
    for path in (*found, *([own] if own else [])):
        if os.path.lexists(path):
            remove_tree(path)
    return names
