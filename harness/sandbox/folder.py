"""A worker's folder: made before it starts, removed when it has ended, also the ones that a killed referee left."""

from __future__ import annotations

import contextlib
import functools
import os
import re
import secrets
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

from harness.sandbox.family import remove_shared_memory, start_of
from harness.sandbox.user_signal import signal_user
from harness.sandbox.wire.layout import files_folder, scratch_folder

_NAME = re.compile(r"harness-worker-(?P<owner>[0-9]{1,10})-(?P<start>[0-9]{1,20})-[0-9a-f]{16}")
_OF_SCRATCH = ("work", "home", "tmp", "cache", "extensions")
_ABANDONED_S = 60
"""The age from which a folder of another process is removed: its name is written before its owner could be told of."""


def make_folder() -> Path:
    """A folder in the system's temporary one, named for this process. Resolved: it is replaced in what is shown."""
    place = Path(os.path.realpath(tempfile.gettempdir()))
    _remove_abandoned(place, os.getpid())
    folder = place / f"harness-worker-{os.getpid()}-{start_of(os.getpid())}-{secrets.token_hex(8)}"
    folder.mkdir(mode=0o700)
    files_folder(folder).mkdir(mode=0o755)
    for name in ("", *_OF_SCRATCH):
        (scratch_folder(folder) / name).mkdir(mode=0o700, exist_ok=True)
    return folder


def write_file(path: Path, content: bytes) -> None:
    """A file that nobody else may write, in folders that nobody else may write to."""
    _make_folders(path.parent)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o444)
    with os.fdopen(descriptor, "wb") as file:
        os.fchmod(descriptor, 0o444)
        file.write(content)


def show_text(text: str, folder: Path) -> str:
    """A worker's text with paths as its author knows them: nothing of where its copy of the solution lay. `folder` is
    the worker's."""
    return text.replace(f"{files_folder(folder)}/", "").replace(f"{scratch_folder(folder)}/", "scratch/")


def remove_folder(folder: Path) -> None:
    """Remove a folder, however deep its folders are, and whatever their modes. No process of the worker lives any
    more."""
    with contextlib.suppress(RecursionError):
        shutil.rmtree(folder, ignore_errors=True)
    if folder.exists():  # deeper than Python's stack, or closed to its owner
        subprocess.run(["chmod", "-R", "u+rwX", str(folder)], capture_output=True, check=False)
        subprocess.run(["rm", "-rf", "--one-file-system", str(folder)], capture_output=True, check=False)


@functools.cache
def _remove_abandoned(place: Path, process: int) -> None:
    """Remove, once in a process, folders whose referee is gone, after the processes and the shared memory of its
    workers."""
    for folder in place.glob("harness-worker-*"):
        with contextlib.suppress(OSError):
            match, facts = _NAME.fullmatch(folder.name), folder.lstat()
            if match is None or folder.is_symlink() or facts.st_uid != os.geteuid():
                continue
            if start_of(int(match["owner"])) != int(match["start"]) and time.time() - facts.st_mtime > _ABANDONED_S:
                user = scratch_folder(folder).lstat().st_uid
                signal_user(user, signal.SIGKILL)
                remove_shared_memory(user)
                remove_folder(folder)


def _make_folders(folder: Path) -> None:
    if not folder.is_dir():
        _make_folders(folder.parent)
        folder.mkdir()
        folder.chmod(0o755)
