"""Bubblewrap (bwrap(1)) in Landlock's place, where the kernel has none: files that nobody can write, folders that look
empty.

What it does holds for a process from its start: so one that is to fork workers, or to be one, starts itself anew
inside. Workers' folders are made later, in the system's temporary folder, which therefore stays as it is.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Collection, Iterator
from pathlib import Path

from harness.protocol.cell import Wing
from harness.worker.confinement import landlock
from harness.worker.confinement.linux import Unavailable
from harness.worker.confinement.readable import hidden_places, needed_places

INSIDE = "inside"
_TRIAL_S = 20
_REMEDY = "Linux 5.19 or newer with landlock among lsm=, or bubblewrap (bwrap) and user namespaces"


def enter(argument: str) -> Unavailable | bool:
    """Start this process anew inside, with the same descriptors, environment and output, and with INSIDE for the
    `argument` of its command, which is a wing.

    True is returned inside; False where there is Landlock, which does all of it better; else what is missing.
    """
    if argument == INSIDE:
        return True
    if _has_landlock():
        return False
    program = shutil.which("bwrap")
    if program is None:
        return Unavailable("the kernel has no Landlock, and there is no bubblewrap", _REMEDY)
    start = [program, *options(Wing.from_argument(argument), needed_places())]
    try:
        tried = subprocess.run([*start, "true"], capture_output=True, timeout=_TRIAL_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return Unavailable(f"the kernel has no Landlock, and bubblewrap fails ({error})", _REMEDY)
    if tried.returncode:
        words = (tried.stderr.decode(errors="replace").splitlines() or ["without a word"])[-1]
        return Unavailable(f"the kernel has no Landlock, and bubblewrap fails ({words})", _REMEDY)
    return os.execv(program, [*start, *(INSIDE if word == argument else word for word in sys.orig_argv)])


def options(wing: Wing, needed: Collection[Path]) -> list[str]:
    """bwrap's: root as it is but for writing, then by path what is hidden and what is needed of that."""
    temporary = Path(os.path.realpath(wing.temporary))
    found = ["--cap-add", "ALL"] if os.geteuid() == 0 else []  # to become a user of its own, and then to drop them all
    found += ["--ro-bind", "/", "/", "--dev-bind", "/dev", "/dev", "--bind", "/proc", "/proc"]
    found += ["--bind", str(temporary), str(temporary)]
    hidden = {
        place
        for place in hidden_places(wing.hidden, wing.home)
        if place.exists() and place not in needed and place != Path("/dev") and not temporary.is_relative_to(place)
    }
    emptied = []
    for place, is_hidden in _in_order(hidden, needed):
        if not is_hidden:
            found += ["--ro-bind", str(place), str(place)]
        elif place.is_dir():
            found += ["--tmpfs", str(place)]
            emptied.append(place)
        else:
            found += ["--ro-bind", "/dev/null", str(place)]
    for place in emptied:
        found += ["--remount-ro", str(place)]
    return [*found, "--"]


def _in_order(hidden: Collection[Path], needed: Collection[Path]) -> Iterator[tuple[Path, bool]]:
    """Each place at which what may be seen changes, from the root on, and whether it is hidden."""
    changes: dict[Path, bool] = {}
    for place in sorted({*hidden, *(place for place in needed if place.exists())}):
        around = next((changes[parent] for parent in place.parents if parent in changes), False)
        if (place in hidden) != around:
            changes[place] = place in hidden
    yield from changes.items()


def _has_landlock() -> bool:
    try:
        landlock.version()
    except Unavailable:
        return False
    return True
