"""Files that a stranger may have written: plain ones alone, up to a size; and JSON, up to a depth."""

from __future__ import annotations

import errno
import json
import os
import stat
from pathlib import Path
from typing import Any, BinaryIO

LONGEST_TEXT = 2**18
"""The most bytes of a text that people write: Python's own parser may take a second for as many."""


def open_plain(path: str | Path, folder: int | None = None, follows_link: bool = True) -> BinaryIO:
    """Open a file below the descriptor `folder`, if there is one. Nobody is waited for at a pipe's other end.

    Raises: OSError, also for what is no plain file, and without `follows_link` for a link."""
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | (0 if follows_link else os.O_NOFOLLOW)
    descriptor = os.open(path, flags, dir_fd=folder)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "no plain file; put one in its place", str(path))
    return os.fdopen(descriptor, "rb")


def read_plain(path: str | Path, most: int, folder: int | None = None, follows_link: bool = True) -> bytes:
    """Read a file like open_plain(). Raises: OSError, also for more than `most` bytes."""
    with open_plain(path, folder, follows_link) as file:
        size = os.fstat(file.fileno()).st_size
        if size > most:
            raise OSError(errno.EFBIG, f"{size} bytes, and {most} are read at most; shorten it", str(path))
        return file.read(most)


def read_text(path: Path, most: int = LONGEST_TEXT, encoding: str = "utf-8", errors: str = "strict") -> str:
    """Read a text, its line breaks as '\\n'. Raises: OSError as read_plain(); UnicodeDecodeError."""
    text = read_plain(path, most).decode(encoding, errors)
    return text.replace("\r\n", "\n").replace("\r", "\n")


def parse_json(text: str | bytes) -> Any:
    """Parse JSON like json.loads(). Raises: ValueError, also where it is nested too deep for Python."""
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("nested too deep") from None
