"""Room on a disk, asked for before work of minutes that would end for want of it."""

from __future__ import annotations

import errno
import os
from pathlib import Path


def require_room(folder: Path, needed_bytes: int) -> None:
    """Raises: OSError where the folder's disk has less for those who aren't root, or has no room for one more file."""
    facts = os.statvfs(folder)
    has_bytes = not facts.f_blocks or facts.f_bavail * facts.f_frsize >= needed_bytes
    if not (has_bytes and (not facts.f_files or facts.f_favail)):  # a file system of no size doesn't say
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(folder))
