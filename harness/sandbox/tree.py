"""Folders that strangers have filled: looked through and removed however deep they are, and without recursion."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path


def entries_below(folder: Path) -> Iterator[os.DirEntry[str]]:
    """Yield everything below a folder, each folder before what it holds. Links aren't followed."""
    waiting = [str(folder)]
    while waiting:
        with contextlib.suppress(OSError), os.scandir(waiting.pop()) as entries:
            for entry in entries:
                yield entry
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)


def remove_tree(folder: Path) -> None:
    """Remove a folder, or a file, whatever its modes. No process that could write there lives any more."""
    with contextlib.suppress(RecursionError):
        shutil.rmtree(folder, ignore_errors=True)
    if os.path.lexists(folder):  # a file, deeper than Python's stack, or closed to its owner
        subprocess.run(["chmod", "-R", "u+rwX", str(folder)], capture_output=True, check=False)
        subprocess.run(["rm", "-rf", "--one-file-system", str(folder)], capture_output=True, check=False)
