"""A signal to all processes of a worker's user at once.

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

from harness.sandbox.wire.sandbox import FIRST_USER, USERS

_SETRESUID = {"x86_64": 117, "aarch64": 147}  # asm/unistd_64.h, asm-generic/unistd.h
_CAPABILITY_VERSION_3 = 0x20080522
_NO_CAPABILITIES = bytes(24)
_PR_GET_DUMPABLE, _PR_SET_DUMPABLE = 3, 4
_ONE_AT_A_TIME = threading.Lock()
"""A lock around a change of a thread's user: it changes whether this process is dumpable, which is put back."""


def is_own_user(user: int) -> bool:
    """Say whether the user can only be a worker's: where the referee isn't root there are none."""
    return os.geteuid() == 0 and FIRST_USER <= user < FIRST_USER + USERS


def signal_user(user: int, number: int) -> bool:
    """Signal every process of a worker's user. False where this machine doesn't let us.

    A thread of ours does it as that user, since Linux keeps a user for each thread (credentials(7)). It costs 0.1 ms; a
    process for it costs 29 ms once torch is loaded here, and couldn't start where a worker has used up its user's
    number of processes.
    """
    if not is_own_user(user) or platform.machine() not in _SETRESUID:
        return False
    done: list[bool] = []
    thread = threading.Thread(target=lambda: done.append(_signal_as(user, number)))
    with _ONE_AT_A_TIME:
        thread.start()
        thread.join()
    return done == [True]


def _signal_as(user: int, number: int) -> bool:
    """Send the signal in a thread that ends with this: it doesn't become root again.

    The real and the saved user are nobody's, so that the worker's processes can't signal this thread in their turn. A
    signal to -1 with root's rights would end the machine: it is sent only once they are seen to be gone.
    """
    libc = ctypes.CDLL(None)
    was_dumpable = libc.prctl(_PR_GET_DUMPABLE, 0, 0, 0, 0)
    nobody = ctypes.c_uint(user + USERS)
    number_of_call = ctypes.c_long(_SETRESUID[platform.machine()])
    try:
        if libc.syscall(number_of_call, nobody, ctypes.c_uint(user), nobody) != 0:  # libc's changes all threads
            return False
        if libc.capset(struct.pack("<Ii", _CAPABILITY_VERSION_3, 0), _NO_CAPABILITIES) != 0:
            return False
        if os.getresuid() != (nobody.value, user, nobody.value):
            return False
        with contextlib.suppress(ProcessLookupError):
            os.kill(-1, number)
        return True
    finally:  # a change of user takes it from the whole process, and with it /proc/self where root is mapped
        libc.prctl(_PR_SET_DUMPABLE, was_dumpable, 0, 0, 0)
