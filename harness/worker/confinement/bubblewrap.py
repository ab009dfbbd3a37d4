"""Bubblewrap (bwrap(1)) in Landlock's place, where the kernel has none: files that nobody can write, folders that look
empty.

What it does holds for a process from its start: so one that is to fork workers, or to be one, starts itself anew
inside. Workers' folders are made later, in the system's temporary folder, which therefore stays as it is.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from harness.sandbox.wire.sandbox import Sandbox
from harness.worker.confinement import landlock
from harness.worker.confinement.linux import PR_SET_PDEATHSIG, Unavailable, prctl
from harness.worker.confinement.readable import hidden_places, needed_places

INSIDE = "inside"
_TRIAL_S = 20
_REMEDY = (
    "Linux 5.19 or newer with landlock among lsm=; or bubblewrap (bwrap), with CAP_SYS_ADMIN for root and user "
    "namespaces for others"
)

View = Literal["hidden", "readable", "writable"]


@dataclass(frozen=True)
class Bubblewrap:
    """The place of this process. `monitor` is the process of bubblewrap's that waits for it."""

    monitor: int


def enter(argument: str) -> Bubblewrap | Unavailable | None:
    """Start this process anew inside, with the same descriptors, environment and output, and with INSIDE for the
    `argument` of its command, which is the fork server's Sandbox.

    Inside, a Bubblewrap is returned, with whose monitor this process ends; None where there is Landlock, which does
    all of it better; else what is missing.
    """
    if argument == INSIDE:
        prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        return Bubblewrap(os.getppid())
    try:
        landlock.version()
    except Unavailable as error:
        why = str(error)
    else:
        return None
    program = shutil.which("bwrap")
    if program is None:
        return Unavailable(f"{why}, and there is no bubblewrap", _REMEDY)
    start = [program, *options(Sandbox.from_argument(argument), needed_places())]
    try:
        trial = [*start, sys.orig_argv[0], "-I", "-S", "-c", ""]
        tried = subprocess.run(trial, capture_output=True, timeout=_TRIAL_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return Unavailable(f"{why}, and bubblewrap fails ({error})", _REMEDY)
    if tried.returncode:
        words = (tried.stderr.decode(errors="replace").splitlines() or ["without a word"])[-1]
        return Unavailable(f"{why}, and bubblewrap fails ({words})", _REMEDY)
    return os.execv(program, [*start, *(INSIDE if word == argument else word for word in sys.orig_argv)])


def options(sandbox: Sandbox, needed: Collection[Path]) -> list[str]:
    """Return bwrap's options: everything as it is but for writing, then by path where what may be seen or written
    changes.

    A user namespace keeps who isn't root from /proc/PID/root of processes outside, which a bwrap that is setuid would
    leave open to it; root has no need of one, and becomes another user later.
    """
    temporary = Path(os.path.realpath(sandbox.folder))
    hidden = {Path(os.path.realpath(place)) for place in hidden_places(sandbox.hidden, sandbox.home, os.geteuid() == 0)}
    views: dict[Path, View] = dict.fromkeys(hidden - {Path("/"), Path("/dev")}, "hidden")
    views |= dict.fromkeys(needed, "readable")
    views[temporary] = "writable"
    found = [] if os.geteuid() == 0 else ["--unshare-user"]
    found += ["--ro-bind", "/", "/", "--dev-bind", "/dev", "/dev", "--bind", "/proc", "/proc"]
    emptied = []
    for place, view in _changes({place: view for place, view in views.items() if os.path.exists(place)}):
        if view != "hidden":
            found += ["--ro-bind" if view == "readable" else "--bind", str(place), str(place)]
        elif os.path.isdir(place):
            found += ["--tmpfs", str(place)]
            emptied.append(place)
        else:
            found += ["--ro-bind", "/dev/null", str(place)]
    for place in emptied:
        found += ["--remount-ro", str(place)]
    return [*found, "--"]


def _changes(views: dict[Path, View]) -> Iterator[tuple[Path, View]]:
    """Yield the changes from the root on. What is needed below the temporary folder can be written as all there."""
    changes: dict[Path, View] = {}
    for place, view in sorted(views.items()):
        around = next((changes[parent] for parent in place.parents if parent in changes), "readable")
        if view != around and (around, view) != ("writable", "readable"):
            changes[place] = view
    yield from changes.items()
