"""The places where both sides look for a file; neither tells the other a path.

A worker's folder holds `files`, which the referee writes and the worker reads, and `scratch`, which is the worker's,
its copy of the solution included. One of the same name lies in the shared memory.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Literal

MANIFEST = "manifest.json"
"""The file that says the name of a built extension's library, and how to import it."""
NVCC_CALL = ".nvcc-call.json"
"""The end of the name of what the simulator's nvcc writes of a call beside what it compiles: a messages.NvccCall."""
WORKER_PLACE = "/harness-worker"
"""The stand-in for a worker's folder in what is kept of its calls."""


def files_folder(folder: Path) -> Path:
    """Return the folder of the problem's files, and of extensions that were built earlier."""
    return folder / "files"


def scratch_folder(folder: Path) -> Path:
    return folder / "scratch"


def solutions_folder(folder: Path) -> Path:
    """Return the folder of a solution's files. Some solutions build into it."""
    return scratch_folder(folder) / "solutions"


SHARED_MEMORY = Path("/dev/shm")


def own_shared_memory(folder: Path) -> Path:
    """Return the folder that a worker sees as /dev/shm, where it has one of its own. It is named after the worker's."""
    return SHARED_MEMORY / f"{folder.name}-shm"


def lent_extensions(folder: Path) -> Path:
    """Return the folder of extensions built earlier: it has one for each key, with a manifest and a library."""
    return files_folder(folder) / "extensions"


def own_extensions(folder: Path) -> Path:
    """Return the folder of extensions built by this worker: it is like lent_extensions(), with logs/<key>.log
    besides."""
    return scratch_folder(folder) / "extensions"


def lent_triton(folder: Path) -> Path:
    """Return the folder of what Triton compiled earlier, laid out like its cache."""
    return files_folder(folder) / "triton"


def own_triton(folder: Path) -> Path:
    """Return the folder of Triton's cache in this worker."""
    return scratch_folder(folder) / "cache" / "triton"


def own_imports(folder: Path) -> Path:
    """Return the list of modules for which this worker found no bytecode, a source's path in each line."""
    return scratch_folder(folder) / "imports"


def own_log(folder: Path, key: str) -> Path:
    return own_extensions(folder) / text_place("logs", key)


def extensions_folder(cache: Path, backend: str) -> Path:
    """Return the folder of extensions that are kept between runs: it has one for each namespace, laid out like
    own_extensions()."""
    return cache / "extensions" / backend


def text_place(kind: Literal["logs", "calls"], key: str) -> Path:
    """Return where, below a folder of extensions, the compiler's whole output for a key lies, or a JSON array of the
    messages.NvccCall of its build. Raises: ValueError where that is no key."""
    if not is_key(key):
        raise ValueError(f"no key of an extension: {key[:80]!r}")
    return Path(kind, f"{key}.{'log' if kind == 'logs' else 'json'}")


def is_key(name: str) -> bool:
    return re.fullmatch("[0-9a-f]{32}", name) is not None
