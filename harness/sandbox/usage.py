"""The part of the host that a worker takes, counted over all its processes and held against its limits."""

from __future__ import annotations

import contextlib
import os
import time
from dataclasses import dataclass
from pathlib import Path

from harness.model.verdict import Verdict
from harness.sandbox.family import Family

_EVERY_S = 0.5
"""The time between two looks: reading /proc takes milliseconds."""
_SCRATCH_EVERY_S = 2.0
_MOST_PROCESSES = 1024
"""The most processes; a build on a machine of 128 cores has some hundreds: ninja, nvcc and its passes."""
_SCRATCH_BYTES = 16 * 2**30
_MOST_FILES = 200_000
_BLOCK = 512  # of st_blocks, stat(2)


@dataclass(frozen=True)
class ExceededLimit:
    """A limit that was passed: the verdict and, after 'the process …', the words."""

    verdict: Verdict
    what: str


class Usage:
    """A counter that looks now and then; `memory_bytes` bounds resident memory, shared memory included."""

    def __init__(self, memory_bytes: int) -> None:
        self._memory_bytes = memory_bytes
        self._next = time.monotonic() + _EVERY_S
        self._next_scratch = time.monotonic() + _SCRATCH_EVERY_S

    def excess(self, family: Family, scratch: Path) -> ExceededLimit | None:
        """Return the limit that is exceeded; None where it isn't time to look, or nothing is wrong."""
        now = time.monotonic()
        if now < self._next:
            return None
        members = family.members()
        self._next = now + _EVERY_S
        if len(members) > _MOST_PROCESSES:
            return ExceededLimit(Verdict.RUNTIME_ERROR, f"started more than {_MOST_PROCESSES:,} processes")
        if sum(one.anonymous_bytes for one in members) + _bytes(family.shared_memory()) > self._memory_bytes:
            limit = self._memory_bytes / 2**30
            return ExceededLimit(Verdict.OUT_OF_MEMORY, f"took more than {limit:.1f} GiB of host memory")
        if now < self._next_scratch:
            return None
        self._next_scratch = now + _SCRATCH_EVERY_S
        return _excess_of(scratch)


def _excess_of(scratch: Path) -> ExceededLimit | None:
    """Count folder by folder, without recursion: they may be deep."""
    waiting, count, total = [str(scratch)], 0, 0
    while waiting:
        with contextlib.suppress(OSError), os.scandir(waiting.pop()) as entries:
            for entry in entries:
                count += 1
                with contextlib.suppress(OSError):
                    total += entry.stat(follow_symlinks=False).st_blocks * _BLOCK
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)
                if total > _SCRATCH_BYTES or count > _MOST_FILES:
                    return ExceededLimit(
                        Verdict.RUNTIME_ERROR,
                        f"wrote more than {_SCRATCH_BYTES >> 30} GiB or {_MOST_FILES:,} files to its folder",
                    )
    return None


def _bytes(paths: list[Path]) -> int:
    total = 0
    for path in paths:
        with contextlib.suppress(OSError):
            total += path.lstat().st_blocks * _BLOCK
    return total


def available_bytes() -> int:
    """Return the bytes of memory that the host has left (proc(5)); 4 GiB where it doesn't say."""
    with contextlib.suppress(OSError), open("/proc/meminfo", encoding="ascii", errors="replace") as file:
        for line in file:
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    return 4 * 2**30
