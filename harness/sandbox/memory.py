"""The memory of this machine, or of the control groups around this process: how much is left, and how often the kernel
has ended a process for want of it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

_UNKNOWN_BYTES = 4 * 2**30
_GROUPS = Path("/sys/fs/cgroup")
_FILES = {
    "": ("", "memory.max", "memory.current", "inactive_file"),  # cgroup v2: Linux's admin-guide/cgroup-v2.rst
    "memory": ("memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
}
"""The folder of the groups and the names of files, by the controllers of a line of /proc/self/cgroup: limit, use, and
in memory.stat the part of it that the kernel gives back when others need it."""


def available_bytes() -> int:
    """Return the bytes of memory that are left (proc(5)), within the limits of this process's groups; 4 GiB where
    nothing says."""
    of_host = _numbers(Path("/proc/meminfo")).get("MemAvailable:")
    return min([*([_UNKNOWN_BYTES] if of_host is None else [of_host * 1024]), *_left_of_groups(_GROUPS)])


def oom_kills() -> int:
    """Return how many processes of the machine the kernel has ended since it started because memory ran out, of a group
    or of all (Linux 4.13)."""
    return _numbers(Path("/proc/vmstat")).get("oom_kill", 0)


def _left_of_groups(mount: Path, named: Path = Path("/proc/self/cgroup")) -> Iterator[int]:
    """Yield what is left to each group that this process is in and that has a limit. Inside a container its own group
    is the root."""
    with contextlib.suppress(OSError):
        for line in named.read_text(encoding="utf-8", errors="replace").splitlines():
            _, controllers, name = line.split(":", 2)
            if controllers not in _FILES:
                continue
            place, limit, used, given_back = _FILES[controllers]
            group = Path(name.lstrip("/"))
            for folder in dict.fromkeys((mount / place / group, *(mount / place / one for one in group.parents))):
                with contextlib.suppress(OSError, ValueError):  # no such file, or no limit: "max"
                    left = int((folder / limit).read_text()) - int((folder / used).read_text())
                    yield max(0, left + _numbers(folder / "memory.stat").get(given_back, 0))


def _numbers(path: Path) -> dict[str, int]:
    """Read the first number of each line by its name; nothing where there is no such file."""
    try:
        lines = [line.split() for line in path.read_text(encoding="ascii", errors="replace").splitlines()]
    except OSError:
        return {}
    return {words[0]: int(words[1]) for words in lines if len(words) > 1 and words[1].isdigit()}
