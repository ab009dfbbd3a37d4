"""One hash for the files of a folder: all that its code can import or include."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from harness.errors import InvalidFile
from harness.model.record import hash_contents, is_prose
from harness.plain_file import read_plain

_MOST_FILES, _MOST_BYTES = 100_000, 2**30


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
        found = [entry for entry in _entries(folder) if not _is_refused(folder, entry) and entry.is_file()]
    start = len(os.path.join(folder, ""))
    parts = {tuple(entry.path[start:].split(os.sep)): entry.path for entry in found}
    return {"/".join(name): Path(path) for name, path in sorted(parts.items()) if not _is_compiled(name)}


def judged_files(folder: Path) -> dict[str, Path]:
    """Return what a solution is made of: hashed_files() but for its prose."""
    return {name: path for name, path in hashed_files(folder).items() if not is_prose(name)}


def refuse_unfit(folder: Path) -> None:
    """Refuse a folder that can't be hashed. Raises: InvalidFile where a file can't be read, there are too many or too
    large ones, or a link in `folder` leads nowhere, to a folder or out of it: what is behind it may change while the
    folder's hash stays, and a record keeps the texts of a solution's files."""
    if not is_text(folder.name):
        raise InvalidFile(f"{str(folder)!r}: a name that is no UTF-8; rename the folder")
    with _readable():
        files = size = 0
        for entry in _entries(folder):
            if _is_refused(folder, entry) and not _is_lock(entry):
                raise InvalidFile(
                    f"{entry.path!r} is a link to {os.readlink(entry)!r}: links to folders, out of {folder.name}/ and "
                    "to nowhere aren't followed; put a copy in its place"
                )
            if entry.is_file():
                files, size = files + 1, size + entry.stat().st_size
                if files > _MOST_FILES or size > _MOST_BYTES:
                    raise InvalidFile(f"{folder}: above {_MOST_FILES} files or {_MOST_BYTES >> 20} MiB; remove some")
                if not os.access(entry, os.R_OK):
                    raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), entry.path)


def is_text(name: str) -> bool:
    """Say whether a file's name is UTF-8, as records keep it."""
    return name.isascii() or name == name.encode(errors="replace").decode()


def _entries(folder: str | Path) -> Iterator[os.DirEntry[str]]:
    """All files and folders below, linked folders too, but nothing in these. A folder that is gone has no files."""
    waiting = [str(folder)]
    while waiting:
        with contextlib.suppress(FileNotFoundError), os.scandir(waiting.pop()) as found:
            entries = list(found)
            waiting += [entry.path for entry in entries if entry.is_dir(follow_symlinks=False)]
            yield from entries


def _content(path: Path) -> bytes:
    with _readable():
        return read_plain(path, _MOST_BYTES)


@contextlib.contextmanager
def _readable() -> Iterator[None]:
    """Raise InvalidFile for an OSError within."""
    try:
        yield
    except OSError as error:
        raise InvalidFile(f"{error.filename}: can't be read: {error.strerror}") from error


def _is_refused(folder: Path, entry: os.DirEntry[str]) -> bool:
    if not entry.is_symlink():
        return False
    real = os.path.realpath(entry.path)
    return not (os.path.isfile(real) and Path(real).is_relative_to(os.path.realpath(folder)))


def _is_lock(entry: os.DirEntry[str]) -> bool:
    """Say whether it is a link to nowhere that Emacs leaves beside a file while it is edited."""
    return entry.name.startswith(".#") and not os.path.exists(entry)


def _is_compiled(parts: Sequence[str]) -> bool:
    return parts[-1].endswith(".pyc") and parts[-2:-1] == ("__pycache__",)
