"""How much memory the host has left (proc(5))."""

from __future__ import annotations

import contextlib


def available_bytes() -> int:
    return _kib("/proc/meminfo", "MemAvailable:") or 4 * 2**30


def _kib(path: str, key: str) -> int:
    with contextlib.suppress(OSError), open(path, encoding="ascii", errors="replace") as file:
        for line in file:
            if line.startswith(key):
                return int(line.split()[1]) * 1024
    return 0
