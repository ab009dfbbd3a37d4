"""A user of its own for each worker, where the referee is root: then the kernel's oldest rule keeps it from other
processes and from other people's files.

Of root's rights it keeps at most one, to read files whatever their mode (CAP_DAC_READ_SEARCH), and only where Python's
environment, or where temporary files go, lies where others may not look, as below /root.
"""

from __future__ import annotations

import contextlib
import glob
import os
import struct
from collections.abc import Iterable, Sequence
from pathlib import Path

from harness.sandbox.wire.layout import scratch_folder
from harness.sandbox.wire.sandbox import user_of
from harness.worker.confinement.linux import (
    PR_CAP_AMBIENT,
    PR_CAPBSET_DROP,
    PR_SET_DUMPABLE,
    PR_SET_KEEPCAPS,
    PR_SET_SECUREBITS,
    Unavailable,
    amd_gpus,
    libc_call,
    prctl,
)
from harness.worker.confinement.readable import is_open, is_passable

_CHOWN, _DAC_READ_SEARCH, _SETGID, _SETUID = 0, 2, 6, 7  # linux/capability.h
_CAPABILITIES = 64
_VERSION_3 = 0x20080522
_AMBIENT_RAISE = 2
_SECURE_BITS = 0b1111  # NOROOT and NO_SETUID_FIXUP, both locked: linux/securebits.h


def become_own_user(folder: Path, needed: Iterable[Path], uses_gpu: bool, owned: Iterable[Path] = ()) -> None:
    """Give the worker's folder, and what else is to be `owned`, to a new user and become that. `needed` must stay
    readable. Raises: Unavailable."""
    user = user_of(os.getpid())
    held = _held()
    _require(user, held)
    keeps = [] if all(map(is_open, needed)) and is_passable(folder.parents) else [_DAC_READ_SEARCH]
    if keeps and not held >> _DAC_READ_SEARCH & 1:
        raise Unavailable(
            "Python's environment or TMPDIR isn't readable by others",
            "put them where all may read, or grant CAP_DAC_READ_SEARCH",
        )
    groups = _groups_of_devices() if uses_gpu else []
    _give(folder, user, owned)
    _drop_bounds(keeps)
    os.setgroups(groups)
    os.setresgid(user, user, user)
    prctl(PR_SET_KEEPCAPS, 1)
    os.setresuid(user, user, user)
    _set_capabilities(keeps)
    prctl(PR_SET_DUMPABLE, 1)  # or its own entries in /proc would be root's


def drop_rights() -> None:
    """Drop the rights of a root that may not change users: it stays the owner of its files, and has no other rights.
    Raises: Unavailable where it is no root."""
    if os.geteuid() != 0:
        raise Unavailable("the referee isn't root, so there are none to drop", "nothing needs to be done")
    keeps = [_DAC_READ_SEARCH] if _held() >> _DAC_READ_SEARCH & 1 else []
    give_up_rights(keeps)


def give_up_rights(keeps: Sequence[int] = ()) -> None:
    """Give up all rights but those that it `keeps`, for this process and all that it starts."""
    _drop_bounds(keeps)
    _set_capabilities(keeps)


def _require(user: int, held: int) -> None:
    if os.geteuid() != 0:
        raise Unavailable("the referee isn't root", "run it as root in a container, or rely on the other means")
    if not all(held >> capability & 1 for capability in (_CHOWN, _SETGID, _SETUID)):
        raise Unavailable("root may not change users here", "grant CAP_CHOWN, CAP_SETGID and CAP_SETUID")
    if not (_is_mapped("uid", user) and _is_mapped("gid", user)):
        raise Unavailable(f"user {user} is beyond this container's users", "map all user ids (user_namespaces(7))")


def _held() -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("CapEff:"):
            return int(line.split()[1], 16)
    return 0


def _is_mapped(kind: str, number: int) -> bool:
    try:
        rows = Path(f"/proc/self/{kind}_map").read_text().splitlines()
    except OSError:  # a kernel without user namespaces maps them all
        return True
    ranges = [tuple(map(int, row.split())) for row in rows]
    return any(first <= number < first + count for first, _, count in ranges)


def _groups_of_devices() -> list[int]:
    """List the groups whose members alone may use the GPU. Raises: Unavailable where root alone may."""
    groups = set()
    for name in (name for pattern in ("/dev/nvidia[0-9c]*", *amd_gpus()) for name in glob.glob(pattern)):
        facts = os.stat(name)
        if os.path.isdir(name) or facts.st_mode & 0o006 == 0o006:
            continue
        if facts.st_mode & 0o060 != 0o060 or facts.st_gid == 0:
            raise Unavailable(
                f"root alone may use {name}", "let all users, or a group, open it (NVIDIA: nvidia-modprobe -c 0)"
            )
        groups.add(facts.st_gid)
    return sorted(groups)


def _give(folder: Path, user: int, owned: Iterable[Path]) -> None:
    """Give the user its scratch; what the referee lays beside that it may only read."""
    os.chown(folder, 0, user)
    os.chmod(folder, 0o710)
    scratch = scratch_folder(folder)
    for place in (scratch, *(one for one in scratch.rglob("*") if one.is_dir()), *owned):
        os.chown(place, user, user)


def _drop_bounds(keeps: Sequence[int]) -> None:
    """Make sure that nothing it executes can bring a right back, and that access(2), by which gcc chooses its temporary
    folder, goes by the rights that are kept, like open(2)."""
    with contextlib.suppress(OSError):  # CAP_SETPCAP isn't held
        prctl(PR_SET_SECUREBITS, _SECURE_BITS)
    for capability in range(_CAPABILITIES):
        if capability not in keeps:
            with contextlib.suppress(OSError):  # the kernel knows fewer, or CAP_SETPCAP isn't held
                prctl(PR_CAPBSET_DROP, capability)


def _set_capabilities(keeps: Sequence[int]) -> None:
    """Keep these capabilities and no others, for this process and, as ambient ones, for compilers that it starts."""
    low = sum(1 << capability for capability in keeps)
    header = struct.pack("<Ii", _VERSION_3, 0)
    data = struct.pack("<6I", low, low, low, 0, 0, 0)
    libc_call("capset", header, data)
    for capability in keeps:
        prctl(PR_CAP_AMBIENT, _AMBIENT_RAISE, capability)
