"""Mounts of the worker's own: it sees a folder of its own as /dev/shm (mount_namespaces(7)).

Who isn't root gets a user namespace for it, whose rights are given up at once. The worker can then change nothing
outside that folder and its scratch, not even modes, times and attributes, which Landlock leaves to a file's owner.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct
from collections.abc import Iterable
from pathlib import Path

from harness.sandbox.wire.layout import SHARED_MEMORY, own_shared_memory, scratch_folder
from harness.worker.confinement.linux import Unavailable, libc_call, syscall
from harness.worker.confinement.own_user import give_up_rights

_NEW_MOUNTS, _NEW_USER = 0x00020000, 0x10000000  # linux/sched.h
_BIND, _RECURSIVE, _SLAVE = 1 << 12, 1 << 14, 1 << 19  # linux/mount.h
_MOUNT_SETATTR = 442  # the same number on every architecture
_AT_CWD, _AT_RECURSIVE, _READ_ONLY = -100, 0x8000, 1  # linux/fcntl.h, linux/mount.h
_REMEDY = "Linux 5.12 or newer, a /dev/shm, and CAP_SYS_ADMIN for root, user namespaces for others"


def enter_own_mounts(folder: Path, needed: Iterable[Path]) -> None:
    """Have this process, and what it starts, see these mounts; `folder` is the worker's. Raises: Unavailable, also
    where the shared memory holds it, or a place that is `needed`."""
    for place in (folder, *needed):
        if place.resolve().is_relative_to(SHARED_MEMORY.resolve()):
            raise Unavailable(f"{place} lies in {SHARED_MEMORY}", f"another place than {SHARED_MEMORY}")
    try:
        if os.geteuid() != 0:
            _try(folder)
        _enter(folder)
    except OSError as error:
        raise Unavailable(f"no mounts of its own can be had ({error.strerror})", _REMEDY) from None


def _try(folder: Path) -> None:
    """Try it in a child: a user namespace in which the rest fails can't be left. Raises: OSError."""
    pid = os.fork()
    if not pid:
        code = errno.EPERM
        try:
            _enter(folder)
            code = 0
        except OSError as error:
            code = error.errno or code
        finally:
            os._exit(code)
    if code := os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]):
        raise OSError(code, os.strerror(abs(code)))


def _enter(folder: Path) -> None:
    user, group, here = os.geteuid(), os.getegid(), os.getcwd()
    own_memory = own_shared_memory(folder).resolve(strict=True)
    libc_call("unshare", ctypes.c_int(_NEW_MOUNTS if user == 0 else _NEW_MOUNTS | _NEW_USER))
    if user != 0:
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
        Path("/proc/self/gid_map").write_text(f"{group} {group} 1")
    _mount(None, Path("/"), _RECURSIVE | _SLAVE)  # what is mounted here stays here
    _mount(own_memory, SHARED_MEMORY, _BIND)
    if user != 0:
        _mount(scratch_folder(folder), scratch_folder(folder), _BIND)
        _set_read_only(Path("/"), True)
        for place in (SHARED_MEMORY, scratch_folder(folder), Path("/proc")):
            _set_read_only(place, False)
        os.chdir(here)  # the same folder by a mount that can be written
        give_up_rights()


def _mount(what: Path | None, where: Path, flags: int) -> None:
    libc_call("mount", os.fsencode(what) if what else None, os.fsencode(where), None, ctypes.c_ulong(flags), None)


def _set_read_only(place: Path, is_read_only: bool) -> None:
    """Change the mount at a place, or all below the root."""
    attributes = struct.pack("<4Q", is_read_only * _READ_ONLY, (not is_read_only) * _READ_ONLY, 0, 0)
    flags = ctypes.c_uint(_AT_RECURSIVE if is_read_only else 0)
    size = ctypes.c_size_t(len(attributes))
    syscall(_MOUNT_SETATTR, ctypes.c_int(_AT_CWD), os.fsencode(place), flags, attributes, size)
