"""One hash for the files of a folder: all that its code can import or include."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator, Mapping
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
        paths = sorted(path for path in _entries(folder) if path.is_file() and not _is_refused(folder, path))
    return {path.relative_to(folder).as_posix(): path for path in paths if not _is_compiled(path)}


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
        for path in _entries(folder):
            if _is_refused(folder, path):
                raise InvalidFile(
                    f"{str(path)!r} is a link to {os.readlink(path)!r}: links to folders and out of {folder.name}/ "
                    "aren't followed; put a copy in its place"
                )
            if path.is_file() and not os.access(path, os.R_OK):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))


def is_text(name: str) -> bool:
    """Say whether a file's name is UTF-8, as records keep it."""
    return name.isascii() or name == name.encode(errors="replace").decode()


def _entries(folder: Path) -> Iterator[Path]:
    for root, folders, files in os.walk(folder, onerror=_raise):  # lists linked folders, and doesn't go into them
        yield from (Path(root, name) for name in (*folders, *files))


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


def _raise(error: OSError) -> None:
    """Raise the error, but for a folder that is gone: it has no files."""
    if not isinstance(error, FileNotFoundError):
        raise error


def _is_refused(folder: Path, path: Path) -> bool:
    return path.is_symlink() and (path.is_dir() or not path.resolve().is_relative_to(folder.resolve()))


def _is_compiled(path: Path) -> bool:
    return path.suffix == ".pyc" and path.parent.name == "__pycache__"
