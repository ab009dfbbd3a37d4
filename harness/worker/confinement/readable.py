"""The files that a worker may read: everything but what it must not see, and of that what Python and compilers need."""

from __future__ import annotations

import contextlib
import os
import pwd
import site
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from pathlib import Path

_SECRETS = ("/etc/shadow", "/etc/gshadow", "/etc/shadow-", "/etc/gshadow-", "/etc/sudoers", "/etc/sudoers.d",
            "/etc/ssh", "/etc/ssl/private", "/run/secrets", "/var/run/secrets")  # fmt: skip
_HOMES = ("/home",)
_PATH_VARIABLES = ("PATH", "LD_LIBRARY_PATH", "LIBRARY_PATH", "CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH")
_FOLDER_VARIABLES = ("CUDA_HOME", "CUDA_PATH", "VIRTUAL_ENV", "CONDA_PREFIX", "CUDA_MPS_PIPE_DIRECTORY")


def hidden_places(named: Iterable[str], home: str, is_root: bool = False) -> set[Path]:
    """Return folders and files, resolved, of which nothing may be read: the named ones, devices, which have rules of
    their own, the system's secrets, and of a home what begins with a dot: keys and credentials. `is_root`: harness is,
    so that a worker may be able to read what is closed to all: then other users' homes are hidden, too."""
    resolved = {Path(os.path.realpath(name)) for name in (*named, *_SECRETS, "/dev", *(_HOMES if is_root else ()))}
    dots = {entry for place in (home, *_homes_of(0, os.getuid())) for entry in _dot_entries(Path(place).resolve())}
    return (resolved | dots) - {Path("/")}


def _homes_of(*users: int) -> Iterator[str]:
    """Yield homes by the user database: HOME may point elsewhere."""
    for user in users:
        with contextlib.suppress(KeyError):
            yield pwd.getpwuid(user).pw_dir


def needed_places() -> set[Path]:
    """List what this interpreter and the compilers of its environment are made of, and this very package, resolved."""
    names = [sys.prefix, sys.base_prefix, sys.exec_prefix, sys.executable, *sysconfig.get_paths().values()]
    names += [site.getuserbase(), *sys.path, str(Path(__file__).parents[2])]
    names += [entry for name in _PATH_VARIABLES for entry in os.environ.get(name, "").split(os.pathsep)]
    names += [os.environ.get(name, "") for name in _FOLDER_VARIABLES]
    names += [word for name in ("CC", "CXX", "NVCC_CCBIN", "PYTORCH_NVCC") for word in os.environ.get(name, "").split()]
    needed = {Path(os.path.realpath(name)) for name in names if os.path.isabs(name)}
    bytecode = {Path(os.path.realpath(name)) for name in (sys.pycache_prefix,) if name}
    return needed | {
        place for place in bytecode if os.geteuid() != 0 or is_open(place)
    }  # it is worth no right of root's


def listed_places(hidden: set[Path]) -> set[Path]:
    """Return folders of modules in which something hidden lies, such as a checkout that is a workspace too: Python
    finds no module where it may not list. That shows names of what is hidden, and no more."""
    return {Path(os.path.realpath(entry)) for entry in sys.path if os.path.isabs(entry)} & _above(hidden)


def readable_places(hidden: set[Path], needed: Iterable[Path]) -> list[Path]:
    """The fewest places whose contents are everything but what is hidden, and what is needed of that."""
    found = set(_around(Path("/"), hidden, _above(hidden)))
    for place in needed:
        inside = hidden - {place, *place.parents}
        found |= set(_around(place, inside, _above(inside)))
    return sorted(found)


def _around(place: Path, hidden: set[Path], above: set[Path]) -> Iterator[Path]:
    """Yield `place`, or where something below it is hidden, its entries but for that."""
    if place in hidden:
        return
    if place not in above:
        yield place
        return
    for entry in _entries(place):
        if not entry.is_symlink():  # what it leads to has a rule where it stands
            yield from _around(entry, hidden, above)


def _above(hidden: set[Path]) -> set[Path]:
    return {folder for place in hidden for folder in place.parents}


def _dot_entries(home: Path) -> Iterator[Path]:
    """List the entries that begin with a dot. One that leads out of the home may lead anywhere, to /usr as well as to
    keys: it stays."""
    places = (Path(os.path.realpath(entry)) for entry in _entries(home) if entry.name.startswith("."))
    return (place for place in places if home in place.parents)


def _entries(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except OSError:
        return []


def is_open(place: Path) -> bool:
    """Say whether everybody may enter or read it. Below it the environment's files are believed to be like their
    root."""
    try:
        mode = place.stat().st_mode
        return is_passable(place.parents) and mode & 0o004 != 0 and (mode & 0o001 != 0 or not place.is_dir())
    except OSError:
        return not place.exists()


def is_passable(folders: Iterable[Path]) -> bool:
    """Say whether everybody gets through to what lies below."""
    return all(folder.stat().st_mode & 0o001 for folder in folders)
