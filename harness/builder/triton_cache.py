"""The cache of what Triton compiled: kept, as extensions of its own workers are, for the very same files alone.

It lies in the namespace of a solution's files (extension_cache). An entry is a folder as in Triton's own cache: a file
that lists the others of a kernel, and these; or the library that launches kernels of a signature.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import stat
from pathlib import Path

from harness.builder.extension_cache import keep_files, namespace_of, open_folder
from harness.plain_file import parse_json, read_plain
from harness.sandbox.folder import write_file
from harness.sandbox.process import WorkerProcess
from harness.sandbox.wire.layout import lent_triton, own_triton

_ENTRY = re.compile(r"[A-Z2-7]{26,104}")
"""Names of entries: a hash in base 32."""
_FILE = re.compile(r"[\w+-][\w.+-]{0,199}")
_LIST = "__grp__"
"""The beginning of the name of the file that lists others, with their paths, of which Triton takes none on trust."""
_MOST_ENTRIES, _MOST_FILES = 512, 32
_MOST_BYTES = 2**28
"""The size of all that is kept for a solution: a kernel has some 100 KB."""

_NO_ENTRY = (OSError, ValueError, KeyError, TypeError, AttributeError)
"""Errors that a folder unlike Triton's may bring about."""


def supply(worker: WorkerProcess) -> None:
    """Lend a worker what Triton made earlier of the files that it was brought."""
    lent, own = lent_triton(worker.folder), own_triton(worker.folder)
    for entry in entries(namespace_of(worker)):
        for path in entry.iterdir():
            content = path.read_bytes()
            if path.name.startswith(_LIST):
                paths = {name: str(own / entry.name / name) for name in json.loads(content)}
                content = json.dumps({"child_paths": paths}).encode()
            write_file(lent / entry.name / path.name, content)


def collect(worker: WorkerProcess) -> None:
    """Keep what Triton made in a worker. Its processes have ended, but every file is still a stranger's: links, pipes,
    endless and unfinished ones are left."""
    if worker.namespace is None:
        return
    kept = _kept(namespace_of(worker))
    before = entries(namespace_of(worker))
    left = _MOST_BYTES - sum(path.stat().st_size for entry in before for path in entry.iterdir())
    with contextlib.suppress(OSError), open_folder(own_triton(worker.folder)) as root:
        new = [name for name in os.listdir(root) if _ENTRY.fullmatch(name) and not (kept / name).exists()]
        for name in new[: _MOST_ENTRIES - len(before)]:
            with contextlib.suppress(*_NO_ENTRY), open_folder(name, root) as folder:
                files = _read_entry(folder, left)
                left -= sum(map(len, files.values()))
                keep_files(kept / name, files)


def entries(namespace: Path) -> list[Path]:
    """Return the folders that are kept."""
    return [path for path in sorted(_kept(namespace).glob("*")) if _ENTRY.fullmatch(path.name)]


def _kept(namespace: Path) -> Path:
    return namespace / "triton"


def _read_entry(folder: int, most_bytes: int) -> dict[str, bytes]:
    """Read the files of an entry; of a list the names alone. Raises: ValueError where it is too large or unfinished,
    one of _NO_ENTRY where it is no entry."""
    sizes = {name: os.stat(name, dir_fd=folder, follow_symlinks=False) for name in os.listdir(folder)}
    names = [name for name, about in sizes.items() if _FILE.fullmatch(name) and stat.S_ISREG(about.st_mode)]
    if len(names) > _MOST_FILES or sum(sizes[name].st_size for name in names) > most_bytes:
        raise ValueError("more than is kept")
    files = {name: read_plain(name, most_bytes, folder, follows_link=False) for name in names}
    for name in (name for name in names if name.startswith(_LIST)):
        listed = [Path(path).name for path in parse_json(files[name].decode())["child_paths"].values()]
        if not set(listed) <= files.keys():
            raise ValueError("a listed file is missing")
        files[name] = json.dumps(listed).encode()
    if not any(name.startswith(_LIST) or name.endswith(".so") for name in names):
        raise ValueError("unfinished")
    return files
