"""Files without a name that processes hold: shared anonymous memory, memfds, and what was unlinked while it was open or
mapped. No folder lists them (proc_pid_fd(5), proc_pid_maps(5))."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from harness.sandbox.user_signal import as_user

BLOCK = 512  # of st_blocks, stat(2)
MOST_OPEN = 200_000
"""The most descriptors that all processes may have together: a look mustn't take minutes."""
_UNLINKED = re.compile(rb"^(?P<range>\w+-\w+) \S+ \S+ (?P<device>\w+:\w+) (?P<inode>\d+) .* \(deleted\)$", re.MULTILINE)
_MAPPED = re.compile(rb"^\w+-\w+ \S+ \S+ (?P<device>\w+:\w+) (?P<inode>\d+)")
_SHARE = re.compile(rb"^Pss: +(\d+) kB")

FileKey = tuple[int, int]
"""Device and inode."""


def files_held(processes: Sequence[int], user: int) -> tuple[dict[FileKey, int], int]:
    """Return the bytes of each, and the number of all descriptors that were looked at. What this process holds as well
    is its own: the buffers that it shares with workers.

    Where root may not look into other users' processes (CAP_SYS_PTRACE, which containers lack) their own `user` does.
    A process whose program nobody may read isn't seen then.
    """
    ours: dict[FileKey, int] = {}
    for name in _descriptors(os.getpid()):
        _add(name, ours)
    found, count = _held(processes, ours)
    if not _may_look(processes):
        more, count = as_user(user, lambda: _held(processes, ours)) or ({}, count)
        found |= more
    return {key: size for key, size in found.items() if key not in ours}, count


def read_proc(pid: int, name: str) -> bytes:
    """Read what /proc says of a process under this name; nothing where it is gone, or isn't ours to read."""
    try:
        return Path(f"/proc/{pid}/{name}").read_bytes()
    except OSError:
        return b""


def _may_look(processes: Sequence[int]) -> bool:
    """Say whether links of /proc may be followed; a root without rights may list them all the same."""
    for pid in processes:
        try:
            os.readlink(f"/proc/{pid}/exe")
        except PermissionError:
            return False
        except OSError:  # it is gone
            continue
    return True


def _held(processes: Sequence[int], ours: Collection[FileKey]) -> tuple[dict[FileKey, int], int]:
    found: dict[FileKey, int] = {}
    shares: dict[FileKey, int] = {}
    count = 0
    for pid in processes:
        names = _descriptors(pid)
        count += len(names)
        if count > MOST_OPEN:
            break
        for name in names:
            _add(name, found)
        unseen = _add_mapped(pid, found, ours)
        for key, size in _resident(pid, unseen) if unseen else ():
            shares[key] = shares.get(key, 0) + size
    return shares | found, count


def _descriptors(pid: int) -> list[str]:
    try:
        return [f"/proc/{pid}/fd/{name}" for name in os.listdir(f"/proc/{pid}/fd")]
    except OSError:
        return []


def _add_mapped(pid: int, found: dict[FileKey, int], ours: Collection[FileKey]) -> set[FileKey]:
    """Add the mapped files that aren't known yet. Return those behind whose mapping this process may not look: what is
    resident of them is counted, by the page's share where others have it as well."""
    unseen: set[FileKey] = set()
    for match in _UNLINKED.finditer(read_proc(pid, "maps")):
        key = _key(match)
        is_known = key in found or key in ours or key in unseen
        if not is_known and not _add(f"/proc/{pid}/map_files/{match['range'].decode()}", found):
            unseen.add(key)
    return unseen


def _resident(pid: int, keys: set[FileKey]) -> Iterator[tuple[FileKey, int]]:
    key = None
    for line in read_proc(pid, "smaps").splitlines():
        if match := _MAPPED.match(line):
            key = _key(match)
        elif key in keys and (share := _SHARE.match(line)):
            yield key, int(share[1]) * 1024


def _add(path: str, found: dict[FileKey, int]) -> bool:
    """Add the file behind a link of /proc if it has no name; return False where it may not be looked at."""
    try:
        facts = os.stat(path)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    if stat.S_ISREG(facts.st_mode) and facts.st_nlink == 0:
        found[facts.st_dev, facts.st_ino] = facts.st_blocks * BLOCK
    return True


def _key(match: re.Match[bytes]) -> FileKey:
    major, minor = (int(number, 16) for number in match["device"].split(b":"))
    return os.makedev(major, minor), int(match["inode"])
