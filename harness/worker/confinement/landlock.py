"""Landlock: from now on this process and all that it starts may touch only the files that were named (landlock(7)).

Rules name what is allowed, below a file or folder. There are none that deny, so what is hidden is left out:
readable.py names its neighbours.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import struct
from collections.abc import Iterable
from pathlib import Path

from harness.worker.confinement.linux import PR_SET_NO_NEW_PRIVS, Unavailable, prctl, syscall

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446  # the same numbers on every architecture
_VERSION_FLAG = 1
_PATH_BENEATH = 1

_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_TRUNCATE, _IOCTL_DEV = 1 << 14, 1 << 15
_OLDEST_ABI = 2
"""The oldest ABI that will do: without REFER (ABI 1) no file can be moved between folders, which Triton and others do
with what they have built."""
_ALL_BY_ABI = {2: (1 << 14) - 1, 3: (1 << 15) - 1, 4: (1 << 15) - 1}
_ALL_SINCE_5 = (1 << 16) - 1
_OF_FILES = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEV
"""The only rights that a rule may name for what is no folder."""
_BIND_AND_CONNECT_TCP = 0b11
_ABSTRACT_SOCKETS, _SIGNALS = 0b01, 0b10

READ = _READ_FILE | _READ_DIR | _EXECUTE
USE = _READ_FILE | _READ_DIR | _WRITE_FILE | _TRUNCATE | _IOCTL_DEV
"""Rights on what is there already: it is opened, mapped, controlled; nothing is made or removed beside it."""
LIST = _READ_DIR
OWN = _ALL_SINCE_5


def restrict(allowed: Iterable[tuple[Path, int]], scopes_sockets: bool) -> int:
    """Allow these rights and no others below these paths; TCP too is denied (ABI 4) and signals reach only processes
    that are restricted alike (ABI 6), as do abstract Unix sockets if they are to. The ABI's version. Raises:
    Unavailable."""
    abi = version()
    handled = _ALL_BY_ABI.get(abi, _ALL_SINCE_5)
    ruleset = _create_ruleset(abi, handled, _SIGNALS | (_ABSTRACT_SOCKETS if scopes_sockets else 0))
    try:
        for path, rights in allowed:
            with contextlib.suppress(FileNotFoundError, PermissionError):  # then it can't be used in any case
                _add_rule(ruleset, path, rights & handled)
        prctl(PR_SET_NO_NEW_PRIVS, 1)
        syscall(_RESTRICT_SELF, ctypes.c_int(ruleset), ctypes.c_uint(0))
    finally:
        os.close(ruleset)
    return abi


def version() -> int:
    """Return Landlock's version. Raises: Unavailable."""
    try:
        abi = syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint(_VERSION_FLAG))
    except OSError as error:
        raise Unavailable(
            f"the kernel refuses Landlock ({error.strerror})", "Linux 5.19 or newer, with landlock among lsm="
        ) from None
    if abi < _OLDEST_ABI:
        raise Unavailable(f"the kernel's Landlock is too old (version {abi})", "Linux 5.19 or newer")
    return abi


def _create_ruleset(abi: int, handled: int, scoped: int) -> int:
    attributes = struct.pack("<Q", handled)
    if abi >= 4:
        attributes += struct.pack("<Q", _BIND_AND_CONNECT_TCP)
    if abi >= 6:
        attributes += struct.pack("<Q", scoped)
    return syscall(_CREATE_RULESET, attributes, ctypes.c_size_t(len(attributes)), ctypes.c_uint(0))


def _add_rule(ruleset: int, path: Path, rights: int) -> None:
    descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        if not path.is_dir():
            rights &= _OF_FILES
        rule = struct.pack("<Qi", rights, descriptor)
        syscall(_ADD_RULE, ctypes.c_int(ruleset), ctypes.c_int(_PATH_BENEATH), rule, ctypes.c_uint(0))
    finally:
        os.close(descriptor)
