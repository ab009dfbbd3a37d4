"""The cache of what Triton compiled: kept, as extensions of its own workers are, for the very same files alone.

It lies in the namespace of a solution's files (extension_cache), and is laid out as Triton lays out its own.
"""

from __future__ import annotations

import contextlib
import os
import re
from pathlib import Path

from harness.builder.extension_cache import keep_files, namespace_of, open_folder
from harness.plain_file import read_plain
from harness.sandbox.folder import write_file
from harness.sandbox.process import WorkerProcess
from harness.sandbox.wire.layout import lent_triton, own_triton

_ENTRY = re.compile(r"[A-Z2-7]{26,104}")
"""Names of what Triton keeps: a hash in base 32."""
_FILE = re.compile(r"[\w.+-]{1,200}")
_MOST_ENTRIES = 512
_MOST_FILES = 32
_FILE_BYTES = 2**26


def supply(worker: WorkerProcess) -> None:
    """Lend a worker what Triton made earlier of the files that it was brought."""
    for entry in entries(namespace_of(worker)):
        for path in entry.iterdir():
            write_file(lent_triton(worker.folder) / entry.name / path.name, path.read_bytes())


def collect(worker: WorkerProcess) -> None:
    """Keep what Triton made in a worker. Its processes have ended, but every file is still a stranger's: links, pipes
    and endless ones are left."""
    if worker.namespace is None:
        return
    kept = _kept(namespace_of(worker))
    with contextlib.suppress(OSError), open_folder(own_triton(worker.folder)) as root:
        new = [name for name in os.listdir(root) if _ENTRY.fullmatch(name) and not (kept / name).exists()]
        for name in new[:_MOST_ENTRIES]:
            with contextlib.suppress(OSError, ValueError), open_folder(name, root) as folder:
                files = [file for file in os.listdir(folder) if _FILE.fullmatch(file)][:_MOST_FILES]
                contents = {file: read_plain(file, _FILE_BYTES, folder, follows_link=False) for file in files}
                keep_files(kept / name, contents)


def entries(namespace: Path) -> list[Path]:
    """Return the folders that are kept."""
    return [path for path in sorted(_kept(namespace).glob("*")) if _ENTRY.fullmatch(path.name)]


def _kept(namespace: Path) -> Path:
    return namespace / "triton"
