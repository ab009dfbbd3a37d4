"""The rights that a worker gives up before it runs anything: it does so by itself, the kernel keeps it up, and it can
never be undone.

Each means stands in a module of its own. Where the machine lacks one the worker runs without it; the referee is told
which were there.
"""

from __future__ import annotations

import contextlib
import glob
import os
import signal
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from harness.sandbox.wire.layout import SHARED_MEMORY, files_folder, scratch_folder
from harness.sandbox.wire.means import (
    BUBBLEWRAP,
    DROPPED_RIGHTS,
    FILTERED_CALLS,
    LIMITS,
    NO_NETWORK,
    OWN_MOUNTS,
    OWN_USER,
    READ_ONLY_FILES,
    SCOPED_SIGNALS,
)
from harness.sandbox.wire.sandbox import Sandbox
from harness.worker.confinement import landlock
from harness.worker.confinement.bubblewrap import Bubblewrap
from harness.worker.confinement.linux import PR_SET_PDEATHSIG, Unavailable, amd_gpus, end_first, limit_resources, prctl
from harness.worker.confinement.own_mounts import enter_own_mounts
from harness.worker.confinement.own_user import become_own_user, drop_rights
from harness.worker.confinement.readable import hidden_places, listed_places, needed_places, readable_places
from harness.worker.confinement.system_calls import filter_calls

_SIGNAL_ABI = 6
_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
_GPUS = ("/dev/nvidia*", "/dev/nvhost*", "/dev/nvmap", "/dev/dxg")
"""Devices that workers get unless they build: those that build work while another one is measured. Compilers and
torch's import need none."""


@dataclass(frozen=True)
class Missing:
    """A means that this machine hasn't got."""

    name: str
    why: str
    remedy: str


@dataclass(frozen=True)
class Confined:
    """The means that are in force, by name, and those that are missing."""

    active: tuple[str, ...]
    missing: tuple[Missing, ...]


def confine(
    sandbox: Sandbox, descriptor: int, parent: int | None = None, bubblewrap: Bubblewrap | Unavailable | None = None
) -> Confined:
    """Confine this process. `descriptor` is the only one that stays open besides the standard three, for this process
    alone. `parent`: who started it, if not the referee itself. `bubblewrap`: what bubblewrap.enter() returned.

    Raises: RuntimeError where the process has several threads: some means hold for the calling one alone.
    """
    if len(os.listdir("/proc/self/task")) != 1:
        raise RuntimeError("a process with several threads can't be confined")
    parent = parent or sandbox.referee
    _close_others(descriptor)
    end_first()
    active: list[str] = []
    missing: list[Missing] = []

    def try_out(name: str, means: Callable[[], object]) -> object:
        try:
            result = means()
        except Unavailable as error:
            missing.append(Missing(name, str(error), error.remedy))
            return None
        active.append(name)
        return result

    needed = needed_places()
    if sandbox.is_apart:
        try_out(OWN_MOUNTS, lambda: enter_own_mounts(sandbox.path, needed))
    owned = (SHARED_MEMORY,) if OWN_MOUNTS in active else ()
    try_out(OWN_USER, lambda: become_own_user(sandbox.path, needed, not sandbox.for_build, owned))
    has_own_user = OWN_USER in active
    if not has_own_user and os.geteuid() == 0:
        try_out(DROPPED_RIGHTS, drop_rights)
    abi, others = None, {sandbox.referee, parent}
    if isinstance(bubblewrap, Bubblewrap):
        active.append(BUBBLEWRAP)
        others.add(bubblewrap.monitor)
    elif bubblewrap is not None:
        missing.append(Missing(READ_ONLY_FILES, str(bubblewrap), bubblewrap.remedy))
    else:
        abi = try_out(
            READ_ONLY_FILES, lambda: landlock.restrict(_allowed(sandbox, needed, has_own_user), sandbox.is_apart)
        )
    _note_scope(abi if isinstance(abi, int) else 0, active, missing)
    limit_resources(has_own_user)
    can_change = not has_own_user and (OWN_MOUNTS not in active or os.geteuid() == 0)
    try_out(FILTERED_CALLS, lambda: filter_calls(() if has_own_user else others, can_change))
    if FILTERED_CALLS in active and NO_NETWORK not in active:
        active.append(NO_NETWORK)
    end_with(parent)
    return Confined((*active, LIMITS), tuple(missing))


def confine_thread(sandbox: Sandbox) -> tuple[str, ...]:
    """Give up what a process in the hands of NVIDIA's tools can: files to write and to read, the network, system calls.
    The names of what is in force; it holds for the calling thread and what that starts.

    A tool has threads and connections of its own in the process by then, which stay as they are, and GPU counters may
    be for root alone, so it keeps its user: this keeps a careless solution from harm, not one that means to do some.
    """
    active = []
    with contextlib.suppress(Unavailable):
        landlock.restrict(_allowed(sandbox, needed_places(), has_own_user=False), False)
        active.append(READ_ONLY_FILES)
    with contextlib.suppress(Unavailable):
        filter_calls({sandbox.referee})
        active += [FILTERED_CALLS, NO_NETWORK]
    return tuple(active)


def end_with(parent: int) -> None:
    """A parent that is killed takes its workers along (PR_SET_PDEATHSIG(2const)); a change of user undoes that."""
    prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(0)


def _note_scope(abi: int, active: list[str], missing: list[Missing]) -> None:
    if abi >= _SIGNAL_ABI:
        active.append(SCOPED_SIGNALS)
    else:
        missing.append(Missing(SCOPED_SIGNALS, "the kernel's Landlock can't scope signals", "Linux 6.12 or newer"))


def _allowed(sandbox: Sandbox, needed: set[Path], has_own_user: bool) -> list[tuple[Path, int]]:
    """List what the worker may touch. CUDA names its threads in /proc, or doesn't start (measured, driver 580). Of
    other processes' entries there only those of the same user could be written, so without a user of its own a worker
    gets its own entry alone. What a builder compiles must depend on nobody: it can't even read others' entries."""
    processes = ("/proc",) if sandbox.builds_texts else ()
    is_root = has_own_user or os.geteuid() == 0
    hidden = hidden_places((*sandbox.hidden, sandbox.folder, *processes), sandbox.home, is_root)
    allowed = [(place, landlock.READ) for place in readable_places(hidden, needed)]
    allowed += [(place, landlock.LIST) for place in listed_places(hidden)]
    devices = _DEVICES if sandbox.for_build else (*_DEVICES, *_GPUS, *amd_gpus())
    allowed += [(Path(name), landlock.USE) for pattern in devices for name in glob.glob(pattern)]
    allowed += [(files_folder(sandbox.path), landlock.READ), (scratch_folder(sandbox.path), landlock.OWN)]
    allowed.append((Path("/proc") if has_own_user and not sandbox.builds_texts else Path("/proc/self"), landlock.USE))
    return allowed if sandbox.builds_texts else [*allowed, (SHARED_MEMORY, landlock.OWN)]


def _close_others(descriptor: int) -> None:
    os.closerange(3, descriptor)
    os.closerange(descriptor + 1, os.sysconf("SC_OPEN_MAX"))
    os.set_inheritable(descriptor, False)
