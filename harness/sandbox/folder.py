"""A worker's folder: made before it starts, removed when it has ended, also the ones that a killed referee left."""

from __future__ import annotations

import contextlib
import functools
import os
import re
import secrets
import signal
import tempfile
import time
from pathlib import Path

from harness.sandbox.family import start_of
from harness.sandbox.shared_memory import remove_shared_memory
from harness.sandbox.tree import remove_tree
from harness.sandbox.user_signal import is_own_user, signal_user
from harness.sandbox.wire.layout import SHARED_MEMORY, files_folder, own_shared_memory, scratch_folder, solutions_folder

_NAME = re.compile(r"harness-worker-(?P<owner>[0-9]{1,10})-(?P<start>[0-9]{1,20})-(?P<space>[0-9]{1,20})-\w{16}(-shm)?")
_OF_SCRATCH = ("work", "home", "tmp", "cache", "extensions")
_ABANDONED_S = 60
"""The age from which a folder of another process is removed: its name is written before its owner could be told of."""


def make_folder() -> Path:
    """A folder in the system's temporary one, named for this process, and one of shared memory, where there is any.
    Resolved: it is replaced in what is shown."""
    place = Path(os.path.realpath(tempfile.gettempdir()))
    _remove_abandoned(place, os.getpid())
    owner = f"{os.getpid()}-{start_of(os.getpid())}-{_pid_space()}"
    folder = place / f"harness-worker-{owner}-{secrets.token_hex(8)}"
    folder.mkdir(mode=0o700)
    files_folder(folder).mkdir(mode=0o755)
    for name in ("", *_OF_SCRATCH):
        (scratch_folder(folder) / name).mkdir(mode=0o700, exist_ok=True)
    with contextlib.suppress(OSError):
        own_shared_memory(folder).mkdir(mode=0o700)
    return folder


def write_file(path: Path, content: bytes) -> None:
    """A file that nobody else may write, in folders that nobody else may write to."""
    _make_folders(path.parent)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o444)
    with os.fdopen(descriptor, "wb") as file:
        os.fchmod(descriptor, 0o444)
        file.write(content)


def give_folders(place: Path, scratch: Path) -> None:
    """Give a place in a worker's scratch folder to the worker, who then may write beside the files there. Elsewhere
    nothing changes."""
    if scratch in place.parents:
        owner = scratch.stat()
        above = [one for one in place.parents if scratch in one.parents]
        for folder in (*above, place, *(one for one in place.rglob("*") if one.is_dir())):
            os.chown(folder, owner.st_uid, owner.st_gid)


def show_text(text: str, folder: Path) -> str:
    """A worker's text with paths as its author knows them: nothing of where its copy of the solution lay. `folder` is
    the worker's."""
    text = text.replace(f"{solutions_folder(folder)}/", "solutions/").replace(f"{files_folder(folder)}/", "")
    return text.replace(f"{scratch_folder(folder)}/", "scratch/")


def remove_folder(folder: Path) -> None:
    """Remove a worker's folder, and that of its shared memory. No process of the worker lives any more."""
    for place in (own_shared_memory(folder), folder):
        if os.path.lexists(place):
            remove_tree(place)


def _pid_space() -> int:
    """Return the number of the namespace in which process numbers count (pid_namespaces(7)); 0 where nothing says."""
    try:
        return os.stat("/proc/self/ns/pid").st_ino
    except OSError:
        return 0


@functools.cache
def _remove_abandoned(place: Path, process: int) -> None:
    """Remove, once in a process, folders whose referee is gone, after the processes and the shared memory of its
    workers."""
    for folder in (*place.glob("harness-worker-*"), *SHARED_MEMORY.glob("harness-worker-*")):
        with contextlib.suppress(OSError):
            match, facts = _NAME.fullmatch(folder.name), folder.lstat()
            is_ours = facts.st_uid == os.geteuid() or is_own_user(facts.st_uid)
            if match is None or folder.is_symlink() or not is_ours:
                continue
            if folder.parent == SHARED_MEMORY and int(match["space"]) != _pid_space():
                continue  # of another container with the same shared memory: who lives there can't be seen
            if start_of(int(match["owner"])) != int(match["start"]) and time.time() - facts.st_mtime > _ABANDONED_S:
                scratch = scratch_folder(folder)
                user = scratch.lstat().st_uid if scratch.exists() else facts.st_uid
                signal_user(user, signal.SIGKILL)
                remove_shared_memory(user)
                remove_folder(folder)


def _make_folders(folder: Path) -> None:
    if not folder.is_dir():
        _make_folders(folder.parent)
        folder.mkdir()
        folder.chmod(0o755)
