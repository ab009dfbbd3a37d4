"""An evaluation that the machine may have ended is tried again, once.

A second try that ends the same way is the solution's doing, since a process can signal itself, take the memory and fill
the disk, too. It is the machine's only where the referee sees so for itself.
"""

from __future__ import annotations

import errno
import re
import tempfile
from pathlib import Path

from harness.errors import MachineError
from harness.model.verdict import Verdict
from harness.room import require_room
from harness.sandbox.memory import available_bytes
from harness.sandbox.outcome import SolutionFailed, WorkerKilled

_MAY_BE_THE_MACHINES = (
    Verdict.COMPILE_ERROR,
    Verdict.LOAD_ERROR,
    Verdict.RUNTIME_ERROR,
    Verdict.CRASHED,
    Verdict.UNSUPPORTED,
)
_WORDS = re.compile(
    r"No space left on device|Disk quota exceeded|Input/output error|Cannot allocate memory|memory exhausted"
    r"|Resource temporarily unavailable|Killed signal terminated program|failed with error code -\d"
)
"""The words of libc, and of gcc and Triton where their compiler was killed. A solution can say them as well."""
_NUMBERS = (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.ENOMEM, errno.EAGAIN)
_ROOM_BYTES = 64 * 2**20
"""The room that a build takes in its folder."""
_MEMORY_BYTES = 2 * 2**30
"""The memory that compiling torch's headers takes."""


class Outage(Exception):
    """An end of an evaluation that may be the machine's doing. The message says what it did."""


def suspected(error: Exception) -> str | None:
    """Return what the machine may have done; None where it has no part in it."""
    if isinstance(error, MachineError) or (isinstance(error, OSError) and error.errno in _NUMBERS):
        return str(error)
    if not isinstance(error, SolutionFailed) or error.verdict not in _MAY_BE_THE_MACHINES:
        return None
    return str(error) if _WORDS.search(f"{error}\n{error.failure.details}") else None


def settled(error: Exception) -> Exception:
    """Return what the last try ended with: a SolutionFailed unless the machine is seen to be at fault. The worker and
    its folder are gone."""
    if isinstance(error, WorkerKilled):
        return error.failed or error
    if isinstance(error, SolutionFailed) and suspected(error) and (what := _shortage()):
        return MachineError(f"{what}: {error}")
    return error


def _shortage() -> str | None:
    """Return what this machine is short of without the solution."""
    try:
        require_room(Path(tempfile.gettempdir()), _ROOM_BYTES)
    except OSError:
        return f"{tempfile.gettempdir()}, where workers have their folders, is full"
    return "memory is short" if available_bytes() < _MEMORY_BYTES else None
