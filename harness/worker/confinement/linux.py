"""The few calls of the kernel that Python doesn't offer."""

from __future__ import annotations

import ctypes
import os

PR_SET_PDEATHSIG = 1
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


def prctl(option: int, *arguments: int) -> None:
    """Call prctl(2). Raises: OSError."""
    padded = [ctypes.c_ulong(value) for value in (*arguments, 0, 0, 0, 0)[:4]]
    _check(_LIBC.prctl(option, *padded))


def syscall(number: int, *arguments: object) -> int:
    """Make a system call; arguments are ctypes values. Raises: OSError."""
    return _check(_LIBC.syscall(ctypes.c_long(number), *arguments))


def _check(result: int) -> int:
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result
