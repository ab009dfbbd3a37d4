"""How much memory the host has left, and how much a session of processes holds (proc(5))."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path


def available_bytes() -> int:
    return _kib("/proc/meminfo", "MemAvailable:") or 4 * 2**30


def session_bytes(session: int) -> int:
    """Resident memory of every process in a session, what they share with nobody."""
    total = 0
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if os.getsid(int(folder.name)) == session:
                total += _kib(f"{folder}/status", "RssAnon:")
    return total


def _kib(path: str, key: str) -> int:
    with contextlib.suppress(OSError), open(path, encoding="ascii", errors="replace") as file:
        for line in file:
            if line.startswith(key):
                return int(line.split()[1]) * 1024
    return 0
