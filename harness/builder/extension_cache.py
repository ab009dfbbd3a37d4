"""The cache of built extensions, which outlive their workers: by content, and shared only where nobody could have
prepared what lies there.

A worker builds in its own scratch. When it has ended, what it built is copied into the namespace of its solution's
files, which the referee alone writes, and lent to later workers of the very same files: no solution can leave anything
for another, nor for its own next version. What builders made of texts lies in SHARED, and is lent to workers of those
who sent the very same text. A namespace has a folder for each key, `logs`, `calls` of nvcc, `texts`,
`triton` (triton_cache) and `rehearsed` (rehearsal).
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Literal

from harness.builder.compiler_log import is_refusal
from harness.plain_file import open_plain, parse_json, read_plain, read_text
from harness.sandbox.folder import show_text, write_file
from harness.sandbox.process import WorkerProcess
from harness.sandbox.wire.codec import decode, encode
from harness.sandbox.wire.extension_text import ExtensionText
from harness.sandbox.wire.layout import (
    MANIFEST,
    WORKER_PLACE,
    extensions_folder,
    is_key,
    lent_extensions,
    own_extensions,
    text_place,
)

_LIBRARY = re.compile(r"[\w.+-]{1,200}\.so")
_LIBRARY_BYTES = 2**30
_MANIFEST_BYTES = 2**14
_LOG_BYTES = 16 * 2**20
_MOST = 256
"""Extensions of one solution that are kept, and texts."""
SHARED = "shared"
_NO_BUILD = (OSError, ValueError, KeyError, TypeError)
"""Errors that a folder unlike ours may bring about."""


def supply(worker: WorkerProcess) -> None:
    """Lend a worker what was built earlier for the files that it was brought, and of their texts."""
    lend(namespace_of(worker), worker.compilers, lent_extensions(worker.folder))


def lend(namespace: Path, compilers: str | None, into: Path) -> None:
    """Copy what is kept for a solution to where its worker looks first; with `compilers` also what all share and the
    solution has sent the text of."""
    keys = [folder.name for folder in sorted(namespace.glob("*")) if is_key(folder.name)]
    for key in keys:
        _lend_build(namespace / key, into / key)
    shared = namespace.parent / SHARED
    for key in {text.key(compilers) for text in texts_of(namespace)} if compilers is not None else ():
        if has_build(shared, key) and not has_build(namespace, key):
            _lend_build(shared / key, into / key)


def _lend_build(build: Path, into: Path) -> None:
    for path in build.iterdir():
        write_file(into / path.name, path.read_bytes())


def collect(worker: WorkerProcess, only: str | None = None) -> None:
    """Keep what a worker has built in its namespace; of a builder what it was asked for, the key `only`. Its processes
    have ended."""
    if worker.namespace is not None:
        keep_builds(own_extensions(worker.folder), namespace_of(worker), only)


def namespace_of(worker: WorkerProcess) -> Path:
    """Return the folder of a worker's builds; `unnamed` has only logs."""
    return extensions_folder(worker.cache, worker.backend) / (worker.namespace or "unnamed")


def log_of(worker: WorkerProcess, key: str) -> Path:
    """Return where the compiler's output of one of a worker's extensions is kept. Raises: SolutionFailed."""
    return _kept_text(worker, key, "logs", lambda text: show_text(text, worker.folder))


def nvcc_calls_of(worker: WorkerProcess, key: str) -> Path:
    """Return the file that says how the build of an extension called nvcc, with WORKER_PLACE for the worker's folder.
    It may be missing. A build that is lent called nobody, and the file is that of the build it comes from. Raises:
    SolutionFailed."""
    return _kept_text(worker, key, "calls", lambda text: text.replace(str(worker.folder), WORKER_PLACE))


def _kept_text(worker: WorkerProcess, key: str, kind: Literal["logs", "calls"], shown: Callable[[str], str]) -> Path:
    if not is_key(key):
        raise worker.misbehaved(f"reported no key of an extension: {key[:80]!r}")
    namespace = namespace_of(worker)
    if has_build(lent_extensions(worker.folder), key) and not has_build(namespace, key):
        return namespace.parent / SHARED / text_place(kind, key)
    return keep_text_of(own_extensions(worker.folder), namespace, key, kind, shown)


def has_build(kept: Path, key: str) -> bool:
    return (kept / key / MANIFEST).is_file()


def has_library(kept: Path, key: str) -> bool:
    """Say whether a library is kept, not a refusal."""
    return has_build(kept, key) and any((kept / key).glob("*.so"))


def keep_builds(made: Path, kept: Path, only: str | None = None) -> None:
    """Keep what a worker built in `made`, and isn't there; of a builder what it was asked for `only`. Its processes
    have ended, but every file is still a stranger's: links, pipes and endless ones are left."""
    with contextlib.suppress(OSError), open_folder(made) as root:
        keys = [name for name in ([only] if only else os.listdir(root)) if is_key(name) and not (kept / name).exists()]
        for key in keys[:_MOST]:
            with contextlib.suppress(*_NO_BUILD), open_folder(key, root) as folder:
                _keep_build(root, folder, kept, key)


def remember_text(kept: Path, text: ExtensionText) -> bool:
    """Keep a text of a solution's for its later workers; False where it has too many."""
    path = kept / "texts" / f"{text.key('')}.json"
    if len(list(path.parent.glob("*.json"))) >= _MOST:
        return False
    keep_text(path, json.dumps(encode(text)))
    return True


def texts_of(kept: Path) -> tuple[ExtensionText, ...]:
    """Read the texts that are remembered. One that isn't allowed any more is left out."""
    found = []
    for path in sorted((kept / "texts").glob("*.json")):
        with contextlib.suppress(OSError, ValueError):
            found.append(decode(ExtensionText, parse_json(read_text(path, _LOG_BYTES))))
    return tuple(found)


def keep_text_of(made: Path, kept: Path, key: str, kind: Literal["logs", "calls"], shown: Callable[[str], str]) -> Path:
    """Keep a build's log, or its calls of nvcc; `shown` makes them fit to be read. The path is there even where the
    text isn't."""
    name = text_place(kind, key)
    with contextlib.suppress(OSError), open_folder(made) as root, open_folder(name.parent, root) as folder:
        keep_text(kept / name, shown(_read(folder, name.name, _LOG_BYTES).decode(errors="replace")))
    return kept / name


def keep_text(path: Path, text: str) -> None:
    """Write the text whole or not at all, whoever else writes it."""
    part = _part_of(path)
    part.write_text(text, encoding="utf-8", errors="replace")
    part.replace(path)


def keep_files(folder: Path, files: Mapping[str, bytes]) -> None:
    """Make a folder of these files, whole or not at all; where another process was first its folder stays."""
    part = _part_of(folder)
    part.mkdir()
    try:
        for name, content in files.items():
            write_file(part / name, content)
        with contextlib.suppress(OSError):  # another process was first
            part.rename(folder)
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _part_of(place: Path) -> Path:
    """Return where it is written until it is whole."""
    place.parent.mkdir(parents=True, exist_ok=True)
    return place.with_name(f".{secrets.token_hex(8)}.part")


def _keep_build(root: int, folder: int, kept: Path, key: str) -> None:
    """Keep one build. Raises: OSError, ValueError where the build isn't as ours are."""
    manifest = parse_json(_read(folder, MANIFEST, _MANIFEST_BYTES))
    files: dict[str, bytes] = {}
    if "refused" in manifest:
        with open_folder("logs", root) as logs:
            log = _read(logs, f"{key}.log", _LOG_BYTES).decode(errors="replace")
        if not (isinstance(manifest["refused"], str) and is_refusal(log)):
            raise ValueError("what failed by itself may go well another time")
        manifest = {"refused": manifest["refused"]}
    else:
        library, is_module = manifest["library"], manifest["is_python_module"]
        if not (isinstance(library, str) and _LIBRARY.fullmatch(library) and isinstance(is_module, bool)):
            raise ValueError(f"no library's name: {library!r}")
        files[library] = read_plain(library, _LIBRARY_BYTES, folder, follows_link=False)
        manifest = {"library": library, "is_python_module": is_module}
    keep_files(kept / key, {**files, MANIFEST: json.dumps(manifest).encode()})


@contextlib.contextmanager
def open_folder(path: Path | str, above: int | None = None) -> Iterator[int]:
    """Open a folder step by step and never through a link: the worker may have put some."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=above)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _read(folder: int, name: str, most: int) -> bytes:
    """Read the beginning of a file. Raises: OSError where it is no plain one."""
    with open_plain(name, folder, follows_link=False) as file:
        return file.read(most)
