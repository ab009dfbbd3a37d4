"""Bytecode of modules that workers alone import, such as those of torch's compiler, kept for later workers.

Where run.cache keeps bytecode, workers read it and may not write it. Each lists the modules for which it found none.
What belongs to installed packages is compiled here from its source: nothing that a worker made is kept.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import sysconfig
import threading
from importlib.util import cache_from_source
from pathlib import Path

from harness.plain_file import read_plain
from harness.sandbox.wire.layout import own_imports

_MOST_BYTES = 2**20
"""The longest list that is read: torch's compiler and what it imports take 0.1 MiB."""
_LEAST_PRIORITY = 19
_OF_MODULES = ("stdlib", "platstdlib", "purelib", "platlib")


class Bytecode:
    """Compiles in the background, one list at a time; what comes meanwhile is left to a later worker's list. It is safe
    to share between threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._compiler: subprocess.Popen[str] | None = None

    def collect(self, folder: Path) -> None:
        """Have compiled what the worker of this folder lists, and has no bytecode yet."""
        if sys.pycache_prefix is None or sys.dont_write_bytecode:
            return
        with self._lock, contextlib.suppress(OSError, ValueError):
            if self.is_busy:
                return
            names = read_plain(own_imports(folder), _MOST_BYTES, follows_link=False).decode().splitlines()
            if wanted := [name for name in names if _is_installed(name) and not Path(cache_from_source(name)).exists()]:
                self._compile(wanted)

    @property
    def is_busy(self) -> bool:
        return self._compiler is not None and self._compiler.poll() is None

    def close(self) -> None:
        """End it: what it has compiled stays, and the rest is compiled in a later run."""
        if self._compiler is not None:
            self._compiler.kill()
            self._compiler.wait()

    def _compile(self, names: list[str]) -> None:
        self._compiler = subprocess.Popen(
            [sys.executable, "-m", "compileall", "-q", "-i", "-"],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        os.setpriority(os.PRIO_PROCESS, self._compiler.pid, _LEAST_PRIORITY)
        assert self._compiler.stdin is not None
        with self._compiler.stdin as told:
            told.write("\n".join(names))


def _is_installed(name: str) -> bool:
    """Say whether a name is that of a source in Python's folders of modules. A link might lead elsewhere by the time
    that it is compiled."""
    path = Path(name)
    folders = (Path(os.path.realpath(sysconfig.get_path(kind))) for kind in _OF_MODULES)
    is_there = path.suffix == ".py" and any(folder in path.parents for folder in folders)
    return is_there and os.path.realpath(name) == name
