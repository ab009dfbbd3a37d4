"""Fresh copies of the files that a worker loads: read-only, of its own, and exactly those that were hashed."""

from __future__ import annotations

import os
from pathlib import Path

from harness.errors import HarnessError
from harness.model.record import hash_contents
from harness.workspace.source_hash import judged_files

_KEPT_BACK = {"solution.yaml"}
"""What its author expects is none of the solution's business."""


def copy_folder(folder: Path, into: Path, sha256: str | None) -> str:
    """Copy a solution's files. Their namespace, as namespace_of() has it.

    Raises: HarnessError where they aren't those of `sha256` (the solution's hash) any more.
    """
    contents = _contents(folder)
    if sha256 is not None and hash_contents(contents.items()) != sha256:
        raise HarnessError(f"{folder} was changed while it was judged; evaluate it again")
    seen = _seen(contents)
    for name, content in seen.items():
        write_file(into / name, content)
    return hash_contents(seen.items())


def namespace_of(folder: Path) -> str:
    """The hash of what a worker sees of a solution: what was built from the very same files is known by it."""
    return hash_contents(_seen(_contents(folder)).items())


def write_file(path: Path, content: bytes) -> None:
    """A file that nobody else may write, in folders that nobody else may write to."""
    _make_folders(path.parent)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o444)
    with os.fdopen(descriptor, "wb") as file:
        os.fchmod(descriptor, 0o444)
        file.write(content)


def _contents(folder: Path) -> dict[str, bytes]:
    return {name: path.read_bytes() for name, path in judged_files(folder).items()}


def _seen(contents: dict[str, bytes]) -> dict[str, bytes]:
    return {name: content for name, content in contents.items() if not _is_kept_back(name)}


def _is_kept_back(name: str) -> bool:
    return name in _KEPT_BACK or ".git" in name.split("/")


def _make_folders(folder: Path) -> None:
    if not folder.is_dir():
        _make_folders(folder.parent)
        folder.mkdir()
        folder.chmod(0o755)
