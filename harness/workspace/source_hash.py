"""One hash for the files of a folder: all that its code can import or include."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from harness.errors import InvalidFile
from harness.model.record import hash_contents, is_prose


def hash_folder(folder: Path) -> str:
    """Return the SHA-256 over names and contents of all files below `folder`, hidden ones too, but for compiled Python.

    Raises: InvalidFile where one can't be read."""
    return hash_files(hashed_files(folder))


def hash_files(files: Mapping[str, Path]) -> str:
    """Return the SHA-256 over the names and the contents of the files, in their order."""
    return hash_contents((name, _content(path)) for name, path in files.items())


def hashed_files(folder: Path) -> dict[str, Path]:
    """The files that hash_folder() covers, by their path in the folder, in its order.

    What is linked and refused by refuse_unfit() is left out: nothing outside the folder is read.

    Raises: InvalidFile where it can't be told what there is.
    """
    with _readable():
        found = [entry for entry in _entries(folder) if _is(entry.is_file) and not _is_refused(folder, entry)]
    start = len(os.path.join(folder, ""))
    parts = {tuple(entry.path[start:].split(os.sep)): entry.path for entry in found}
    return {"/".join(name): Path(path) for name, path in sorted(parts.items()) if not _is_compiled(name)}


def judged_files(folder: Path) -> dict[str, Path]:
    """Return what a solution is made of: hashed_files() but for its prose."""
    return {name: path for name, path in hashed_files(folder).items() if not is_prose(name)}


def refuse_unfit(folder: Path) -> None:
    """Refuse a folder that can't be hashed. Raises: InvalidFile where a file can't be read, or a link in `folder` leads
    to a folder or out of it: what is behind it may change while the folder's hash stays, and a record keeps the texts
    of a solution's files."""
    if not is_text(folder.name):
        raise InvalidFile(f"{str(folder)!r}: a name that is no UTF-8; rename the folder")
    with _readable():
        for entry in _entries(folder):
            if _is_refused(folder, entry):
                raise InvalidFile(
                    f"{entry.path!r} is a link to {os.readlink(entry)!r}: links to folders and out of {folder.name}/ "
                    "aren't followed; put a copy in its place"
                )
            if _is(entry.is_file) and not os.access(entry, os.R_OK):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), entry.path)


def is_text(name: str) -> bool:
    """Say whether a file's name is UTF-8, as records keep it."""
    return name.isascii() or name == name.encode(errors="replace").decode()


def _entries(folder: str | Path) -> Iterator[os.DirEntry[str]]:
    """All files and folders below, linked folders too, but nothing in these. A folder that is gone has no files."""
    try:
        with os.scandir(folder) as found:
            entries = list(found)
    except FileNotFoundError:
        return
    for entry in entries:
        yield entry
        if entry.is_dir(follow_symlinks=False):
            yield from _entries(entry.path)


def _content(path: Path) -> bytes:
    with _readable():
        return path.read_bytes()


@contextlib.contextmanager
def _readable() -> Iterator[None]:
    """Raise InvalidFile for an OSError within."""
    try:
        yield
    except OSError as error:
        raise InvalidFile(f"{error.filename}: can't be read: {error.strerror}") from error


def _is(asked: Callable[[], bool]) -> bool:
    """Ask; what a link leads to in a circle, or below a file, is neither."""
    try:
        return asked()
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENOTDIR):
            return False
        raise


def _is_refused(folder: Path, entry: os.DirEntry[str]) -> bool:
    if not entry.is_symlink():
        return False
    return _is(entry.is_dir) or not Path(entry.path).resolve().is_relative_to(folder.resolve())


def _is_compiled(parts: Sequence[str]) -> bool:
    return parts[-1].endswith(".pyc") and parts[-2:-1] == ("__pycache__",)
