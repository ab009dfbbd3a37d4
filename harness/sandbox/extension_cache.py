"""Built extensions that outlive their workers: one namespace for each text of a solution, written by the referee alone,
and one that all share.

A worker builds in its own scratch. When it has ended, what it built is copied here, and lent to later workers of the
very same files: no solution can leave anything for another, nor for its own next version. What builders made of texts
lies in SHARED, and is lent to workers of those who sent the very same text.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
import shutil
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

from harness.builder.compiler_log import is_refusal
from harness.sandbox.sources import write_file
from harness.sandbox.wire.extension_text import ExtensionText, read, written
from harness.sandbox.wire.layout import MANIFEST, calls_name, is_key, log_name

_LIBRARY = re.compile(r"[\w.+-]{1,200}\.so")
_LIBRARY_BYTES = 2**30
_MANIFEST_BYTES = 2**14
_LOG_BYTES = 16 * 2**20
_MOST = 256
"""Extensions of one solution that are kept, and texts."""
SHARED = "shared"
_NO_BUILD = (OSError, ValueError, KeyError, TypeError, RecursionError)
"""What a folder that isn't as ours are may bring about; RecursionError: JSON that is nested deep."""


def lend(kept: Path, into: Path) -> None:
    """Copy what is kept for a solution to where its worker looks first."""
    for folder in sorted(kept.glob("*")) if kept.is_dir() else []:
        if is_key(folder.name):
            lend_build(kept, folder.name, into)


def lend_build(kept: Path, key: str, into: Path) -> None:
    """One of them."""
    for path in (kept / key).iterdir():
        write_file(into / key / path.name, path.read_bytes())


def lend_texts(root: Path, namespace: str, compilers: str, into: Path) -> set[str]:
    """Copy what all share and a solution has sent the text of; the keys of these. `root` has all namespaces."""
    keys = {text.key(compilers) for text in texts_of(root / namespace)}
    lent = {key for key in keys if has_build(root / SHARED, key) and not has_build(root / namespace, key)}
    for key in lent:
        lend_build(root / SHARED, key, into)
    return lent


def has_build(kept: Path, key: str) -> bool:
    return (kept / key / MANIFEST).is_file()


def has_library(kept: Path, key: str) -> bool:
    """Whether it isn't a refusal that is remembered."""
    return has_build(kept, key) and any((kept / key).glob("*.so"))


def keep_builds(made: Path, kept: Path, only: str | None = None) -> None:
    """Keep what a worker built in `made`, and isn't there; of a builder what it was asked for `only`. Its processes
    have ended, but every file is still a stranger's: links, pipes and endless ones are left."""
    with contextlib.suppress(OSError), _open_folder(made) as root:
        keys = [name for name in ([only] if only else os.listdir(root)) if is_key(name) and not (kept / name).exists()]
        for key in keys[:_MOST]:
            with contextlib.suppress(*_NO_BUILD), _open_folder(key, root) as folder:
                _keep_build(root, folder, kept, key)


def remember_text(kept: Path, text: ExtensionText) -> bool:
    """Keep a text of a solution's for its later workers; False where it has too many."""
    path = kept / "texts" / f"{text.key('')}.json"
    if len(list(path.parent.glob("*.json"))) >= _MOST:
        return False
    keep_text(path, written(text))
    return True


def texts_of(kept: Path) -> tuple[ExtensionText, ...]:
    """Those that are remembered. One that isn't allowed any more is left out."""
    found = []
    for path in sorted((kept / "texts").glob("*.json")):
        with contextlib.suppress(OSError, ValueError):
            found.append(read(path.read_text(encoding="utf-8")))
    return tuple(found)


def keep_log(made: Path, kept: Path, key: str, shown: Callable[[str], str]) -> Path:
    """Keep the compiler's words for an extension; `shown` makes them fit to be read. The path is there even where the
    log isn't. Raises: ValueError where that is no key."""
    return _keep_text(made, kept, Path("logs", log_name(key)), shown)


def keep_calls(made: Path, kept: Path, key: str, shown: Callable[[str], str]) -> Path:
    """Keep how an extension's build called nvcc, as keep_log() does; a build that is lent called nobody, and the file
    is that of the build it comes from."""
    return _keep_text(made, kept, Path("calls", calls_name(key)), shown)


def _keep_text(made: Path, kept: Path, name: Path, shown: Callable[[str], str]) -> Path:
    path = kept / name
    with contextlib.suppress(OSError), _open_folder(made) as root, _open_folder(name.parent, root) as folder:
        keep_text(path, shown(_read(folder, name.name, _LOG_BYTES).decode(errors="replace")))
    return path


def keep_text(path: Path, text: str) -> None:
    """Whole or not at all, whoever else writes it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{secrets.token_hex(8)}.part")
    part.write_text(text, encoding="utf-8", errors="replace")
    part.replace(path)


def _keep_build(root: int, folder: int, kept: Path, key: str) -> None:
    """Raises: OSError, ValueError where the build isn't as ours are."""
    manifest = json.loads(_read(folder, MANIFEST, _MANIFEST_BYTES))
    files: dict[str, bytes] = {}
    if "refused" in manifest:
        with _open_folder("logs", root) as logs:
            log = _read(logs, log_name(key), _LOG_BYTES).decode(errors="replace")
        if not (isinstance(manifest["refused"], str) and is_refusal(log)):
            raise ValueError("what failed by itself may go well another time")
        manifest = {"refused": manifest["refused"]}
    else:
        library, is_module = manifest["library"], manifest["is_python_module"]
        if not (isinstance(library, str) and _LIBRARY.fullmatch(library) and isinstance(is_module, bool)):
            raise ValueError(f"no library's name: {library!r}")
        files[library] = _read(folder, library, _LIBRARY_BYTES)
        manifest = {"library": library, "is_python_module": is_module}
    kept.mkdir(parents=True, exist_ok=True)
    part = kept / f".{secrets.token_hex(8)}.part"
    part.mkdir()
    try:
        for name, content in {**files, MANIFEST: json.dumps(manifest).encode()}.items():
            write_file(part / name, content)
        with contextlib.suppress(OSError):  # another process was first
            part.rename(kept / key)
    finally:
        shutil.rmtree(part, ignore_errors=True)


@contextlib.contextmanager
def _open_folder(path: Path | str, above: int | None = None) -> Iterator[int]:
    """Its descriptor. Step by step and never through a link: the worker may have put some."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=above)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _read(folder: int, name: str, most: int) -> bytes:
    """Raises: OSError where it is no plain file or too long; a log's end is left off."""
    descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    with os.fdopen(descriptor, "rb") as file:
        facts = os.fstat(descriptor)
        if not stat.S_ISREG(facts.st_mode) or (facts.st_size > most and name.endswith(".so")):
            raise OSError(f"{name} is no file of a build")
        return file.read(most)
