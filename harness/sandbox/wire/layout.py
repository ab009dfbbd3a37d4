"""Where both sides look for a file; neither tells the other a path.

A worker's folder holds `files`, which the referee writes and the worker reads, and `scratch`, which is the worker's.
"""

from __future__ import annotations

import re
from pathlib import Path

MANIFEST = "manifest.json"
"""Of a built extension: the name of its library, and how to import it."""
NVCC_CALL = ".nvcc-call.json"
"""Ends the name of what the simulator's nvcc writes of a call beside what it compiles: a messages.NvccCall."""
READ_ONLY_FILES = "read-only files"
"""Among a worker's protections: it writes to its own scratch alone, and no other worker writes there."""
WORKER_PLACE = "/harness-worker"
"""Stands for a worker's folder in what is kept of its calls."""


def files_folder(folder: Path) -> Path:
    """The sources that the worker loads, and extensions that were built for them earlier."""
    return folder / "files"


def scratch_folder(folder: Path) -> Path:
    return folder / "scratch"


def lent_extensions(folder: Path) -> Path:
    """Built earlier: a folder for each key, with a manifest and a library."""
    return files_folder(folder) / "extensions"


def own_extensions(folder: Path) -> Path:
    """Built by this worker: as lent_extensions(), and logs/<key>.log."""
    return scratch_folder(folder) / "extensions"


def own_log(folder: Path, key: str) -> Path:
    return own_extensions(folder) / "logs" / log_name(key)


def own_nvcc_calls(folder: Path, key: str) -> Path:
    """How its build called nvcc: a JSON array of messages.NvccCall."""
    return own_extensions(folder) / "calls" / calls_name(key)


def extensions_folder(cache: Path, backend: str) -> Path:
    """What is kept between runs: a folder for each namespace, laid out as own_extensions()."""
    return cache / "extensions" / backend


def log_name(key: str) -> str:
    """The compiler's whole output for the extension of a key. Raises: ValueError where that is no key."""
    if not is_key(key):
        raise ValueError(f"no key of an extension: {key[:80]!r}")
    return f"{key}.log"


def calls_name(key: str) -> str:
    """Raises: ValueError where that is no key."""
    return f"{log_name(key).removesuffix('.log')}.json"


def is_key(name: str) -> bool:
    return re.fullmatch("[0-9a-f]{32}", name) is not None
