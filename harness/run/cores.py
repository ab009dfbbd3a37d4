"""The division of CPU cores into those that measure and those that compile.

Compilers on every core disturb what is timed: the worker's thread that launches kernels loses its core and its cache,
and a call that is bound by its launches gets slower. So every GPU has cores of its own for its referee and its worker
(one runs while the other waits), a hyper-thread's twin included, and compilers keep to the rest, at a lower priority.
Where too few cores are left for compilers, builds and measurements alternate instead.
"""

from __future__ import annotations

import os
import re
import threading
from dataclasses import dataclass
from pathlib import Path

_PER_LANE = 2
"""The whole cores for one GPU: one for the worker, one for the referee that watches it."""
_FEWEST_FOR_BUILDS = 2
_NICE = 10


@dataclass(frozen=True)
class Cores:
    """A division of the CPUs. `lanes[i]` measure on GPU i and `builds` compile; both None: they take turns on all."""

    lanes: tuple[frozenset[int], ...] | None
    builds: frozenset[int] | None
    usable: int
    """CPUs that this process may use in all, a container's quota considered."""


def divide_cores(lanes: int, groups: list[frozenset[int]], quota: float | None) -> Cores:
    """Divide CPUs, given as whole cores (each with its hyper-threads).

    A quota (CPUs' worth of time, cgroup v2) below their number counts: a container over its quota is stopped as a
    whole, measurement included, so compilers must leave room in it.
    """
    total = sum(map(len, groups))
    usable = total if quota is None else max(1, min(total, int(quota)))
    reserved, rest = groups[: _PER_LANE * lanes], groups[_PER_LANE * lanes :]
    spare = min(sum(map(len, rest)), usable - sum(map(len, reserved)))
    if spare < _FEWEST_FOR_BUILDS:
        return Cores(None, None, usable)
    builds = sorted(cpu for group in rest for cpu in group)[:spare]
    of_lanes = tuple(frozenset().union(*reserved[i * _PER_LANE : (i + 1) * _PER_LANE]) for i in range(lanes))
    return Cores(of_lanes, frozenset(builds), usable)


def core_groups() -> list[frozenset[int]]:
    """The CPUs that this process may use, by physical core."""
    allowed = os.sched_getaffinity(0)
    return sorted({frozenset(_siblings(cpu) & allowed) for cpu in allowed}, key=min)


def cpu_quota() -> float | None:
    """Return the CPUs' worth of time that the container may take (cgroup v2); None where it isn't limited."""
    try:
        quota, period = Path("/sys/fs/cgroup/cpu.max").read_text().split()
        return float(quota) / float(period)
    except (OSError, ValueError):  # no cgroup v2, or 'max'
        return None


def keep_thread_to(cpus: frozenset[int] | None, is_background: bool = False) -> None:
    """Pin the calling thread, and every process that it starts, to these CPUs; on Linux both settings are a thread's
    (sched_setaffinity(2), setpriority(2))."""
    if cpus:
        os.sched_setaffinity(0, cpus)
    if is_background:
        thread = threading.get_native_id()
        os.setpriority(os.PRIO_PROCESS, thread, max(_NICE, os.getpriority(os.PRIO_PROCESS, thread)))


def _siblings(cpu: int) -> set[int]:
    """Return '0,64' or '0-1'; the CPU alone where the kernel doesn't say."""
    path = Path(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list")
    try:
        text = path.read_text()
    except OSError:
        return {cpu}
    found = {cpu}
    for first, last in re.findall(r"(\d+)(?:-(\d+))?", text):
        found |= set(range(int(first), int(last or first) + 1))
    return found
