"""Calls of the kernel that Python doesn't offer, limits (getrlimit(2)), and who ends first where memory is short.

What a limit can't bound (all processes of a session together, all files) the referee counts.
"""

from __future__ import annotations

import contextlib
import ctypes
import glob
import os
import resource
import sys
from pathlib import Path

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
PR_SET_DUMPABLE = 4
PR_SET_KEEPCAPS = 8
PR_SET_SECCOMP = 22
PR_CAPBSET_DROP = 24
PR_SET_SECUREBITS = 28
PR_SET_NO_NEW_PRIVS = 38
PR_CAP_AMBIENT = 47  # all: linux/prctl.h

_LIBC = ctypes.CDLL(None, use_errno=True)


class Unavailable(Exception):
    """A means of confinement that this machine hasn't got. The worker runs without it, and says so."""

    def __init__(self, why: str, remedy: str) -> None:
        super().__init__(why)
        self.remedy = remedy


def amd_gpus() -> list[str]:
    """List the files of AMD's GPUs where torch, which the fork server has imported, is built for them. Elsewhere they
    are a screen's."""
    version = getattr(sys.modules.get("torch"), "version", None)
    return ["/dev/kfd", *glob.glob("/dev/dri/renderD*")] if getattr(version, "hip", None) else []


def prctl(option: int, *arguments: int) -> None:
    """Call prctl(2). Raises: OSError."""
    padded = [ctypes.c_ulong(value) for value in (*arguments, 0, 0, 0, 0)[:4]]
    _check(_LIBC.prctl(option, *padded), "prctl")


def syscall(number: int, *arguments: object) -> int:
    """Make a system call; arguments are ctypes values. Raises: OSError."""
    return _check(_LIBC.syscall(ctypes.c_long(number), *arguments), f"system call {number}")


def libc_call(name: str, *arguments: object) -> int:
    """Call a function of libc that Python doesn't offer; arguments are ctypes values. Raises: OSError."""
    return _check(getattr(_LIBC, name)(*arguments), name)


def _check(result: int, call: str) -> int:
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{call}: {os.strerror(code)}")
    return result


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
