"""Limits that the kernel keeps (getrlimit(2)), and an order in which it ends processes when memory runs out.

What a limit can't bound (all processes of a session together, all files) the referee counts.
"""

from __future__ import annotations

import contextlib
import resource
from pathlib import Path

_FILE_BYTES = 16 * 2**30
_TASKS = 8192
"""The most processes and threads: torch.compile on a large machine has some hundreds of threads in each of 32
processes."""
_DESCRIPTORS = 65536


def limit_resources(has_own_user: bool) -> None:
    """The number of processes is a user's, so it is limited only for a user that is the worker's alone."""
    _lower(resource.RLIMIT_CORE, 0)
    _lower(resource.RLIMIT_FSIZE, _FILE_BYTES)
    _lower(resource.RLIMIT_NOFILE, _DESCRIPTORS)
    if has_own_user:
        _lower(resource.RLIMIT_NPROC, _TASKS)


def end_first() -> None:
    """Let the kernel end a worker, never the referee, when memory runs out (proc(5), oom_score_adj). What root has
    written can't be taken back."""
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000")


def _lower(which: int, value: int) -> None:
    _, hard = resource.getrlimit(which)
    limit = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(which, (limit, limit))
