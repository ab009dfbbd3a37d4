"""The part of the host that a worker takes, counted over all its processes and held against its limits."""

from __future__ import annotations

import contextlib
import time
from dataclasses import dataclass
from pathlib import Path

from harness.model.verdict import Verdict
from harness.sandbox.family import Family
from harness.sandbox.held_files import BLOCK, MOST_OPEN
from harness.sandbox.tree import entries_below

_EVERY_S = 0.5
"""The time between two looks: reading /proc takes milliseconds."""
_SCRATCH_EVERY_S = 2.0
_MOST_PROCESSES = 1024
"""The most processes; a build on a machine of 128 cores has some hundreds: ninja, nvcc and its passes."""
_SCRATCH_BYTES = 16 * 2**30
_MOST_FILES = 200_000


@dataclass(frozen=True)
class ExceededLimit:
    """A limit that was passed: the verdict and, after 'the process …', the words."""

    verdict: Verdict
    what: str


class Usage:
    """A counter that looks now and then; `memory_bytes` bounds resident memory, shared memory and files in memory
    included."""

    def __init__(self, memory_bytes: int) -> None:
        self.memory_bytes = memory_bytes
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
        held, count_open = family.files_held(members)
        if count_open > MOST_OPEN:
            return ExceededLimit(Verdict.RUNTIME_ERROR, f"opened more than {MOST_OPEN:,} files")
        on_disk = sum(size for (device, _), size in held.items() if device == scratch.stat().st_dev)
        in_memory = sum(held.values()) - on_disk + _bytes(family.shared_memory())
        if sum(one.anonymous_bytes for one in members) + in_memory > self.memory_bytes:
            limit = self.memory_bytes / 2**30
            return ExceededLimit(Verdict.OUT_OF_MEMORY, f"took more than {limit:.1f} GiB of host memory")
        if now < self._next_scratch:
            return None
        self._next_scratch = now + _SCRATCH_EVERY_S
        return _excess_of(scratch, on_disk)


def _excess_of(scratch: Path, unlinked_bytes: int) -> ExceededLimit | None:
    total = unlinked_bytes
    for count, entry in enumerate(entries_below(scratch), 1):
        with contextlib.suppress(OSError):
            total += entry.stat(follow_symlinks=False).st_blocks * BLOCK
        if total > _SCRATCH_BYTES or count > _MOST_FILES:
            break
    else:
        if total <= _SCRATCH_BYTES:
            return None
    return ExceededLimit(
        Verdict.RUNTIME_ERROR, f"wrote more than {_SCRATCH_BYTES >> 30} GiB or {_MOST_FILES:,} files to its folder"
    )


def _bytes(paths: list[Path]) -> int:
    total = 0
    for path in paths:
        with contextlib.suppress(OSError):
            total += path.lstat().st_blocks * BLOCK
    return total
