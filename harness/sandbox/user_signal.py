"""Work that the referee does as a worker's user: a signal to all its processes at once, and a look into them.

The kernel walks through the processes under the lock that a fork takes (kill(2) with -1): none that is being born is
left out, however fast they follow each other, while a list from /proc is old when it has been read.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import platform
import struct
import threading
from collections.abc import Callable
from typing import TypeVar

from harness.sandbox.wire.sandbox import FIRST_USER, USERS

T = TypeVar("T")

_SETRESUID = {"x86_64": 117, "aarch64": 147}  # asm/unistd_64.h, asm-generic/unistd.h
_SETRESGID = {"x86_64": 119, "aarch64": 149}
_CAPABILITY_VERSION_3 = 0x20080522
_NO_CAPABILITIES = bytes(24)
_PR_GET_DUMPABLE, _PR_SET_DUMPABLE = 3, 4
_ONE_AT_A_TIME = threading.Lock()
"""A lock around a change of a thread's user: it changes whether this process is dumpable, which is put back."""


def is_own_user(user: int) -> bool:
    """Say whether the user can only be a worker's: where the referee isn't root there are none."""
    return os.geteuid() == 0 and FIRST_USER <= user < FIRST_USER + USERS


def signal_user(user: int, number: int) -> bool:
    """Signal every process of a worker's user. False where this machine doesn't let us."""
    return as_user(user, lambda: _signal_all(number)) is True


def as_user(user: int, what: Callable[[], T]) -> T | None:
    """Have it done by a thread of ours that is a worker's user, without rights; None where this machine doesn't let us.

    Linux keeps a user for each thread (credentials(7)). It costs 0.1 ms; a process for it costs 29 ms once torch is
    loaded here, and couldn't start where a worker has used up its user's number of processes.
    """
    if not is_own_user(user) or platform.machine() not in _SETRESUID:
        return None
    done: list[T] = []
    thread = threading.Thread(target=lambda: _become_and_do(user, what, done))
    with _ONE_AT_A_TIME:
        thread.start()
        thread.join()
    return done[0] if done else None


def _become_and_do(user: int, what: Callable[[], T], done: list[T]) -> None:
    """Do it in a thread that ends with this: it doesn't become root again.

    The real and the saved user are nobody's, so that the worker's processes can't signal this thread in their turn. A
    signal to -1 with root's rights would end the machine: nothing is done before they are seen to be gone.
    """
    libc = ctypes.CDLL(None)
    was_dumpable = libc.prctl(_PR_GET_DUMPABLE, 0, 0, 0, 0)
    nobody = ctypes.c_uint(user + USERS)
    try:
        for numbers in (_SETRESGID, _SETRESUID):  # libc's own functions change all threads
            call = ctypes.c_long(numbers[platform.machine()])
            if libc.syscall(call, nobody, ctypes.c_uint(user), nobody) != 0:
                return
        if libc.capset(struct.pack("<Ii", _CAPABILITY_VERSION_3, 0), _NO_CAPABILITIES) != 0:
            return
        if os.getresuid() == (nobody.value, user, nobody.value):
            done.append(what())
    finally:  # a change of user takes it from the whole process, and with it /proc/self where root is mapped
        libc.prctl(_PR_SET_DUMPABLE, was_dumpable, 0, 0, 0)


def _signal_all(number: int) -> bool:
    with contextlib.suppress(ProcessLookupError):
        os.kill(-1, number)
    return True
