"""One hash for the files of a folder."""

from __future__ import annotations

import hashlib
from pathlib import Path


def hash_folder(folder: Path) -> str:
    """SHA-256 over names and contents of all files below `folder`, compiled Python and hidden files left out."""
    digest = hashlib.sha256()
    for name, path in hashed_files(folder).items():
        for piece in (name.encode(), path.read_bytes()):
            digest.update(len(piece).to_bytes(8, "big") + piece)
    return digest.hexdigest()


def hashed_files(folder: Path) -> dict[str, Path]:
    """The files that hash_folder() covers, by their path in the folder, in its order."""
    return {
        "/".join(parts): path
        for path in sorted(folder.rglob("*"))
        if path.is_file()
        and "__pycache__" not in (parts := path.relative_to(folder).parts)
        and not any(part.startswith(".") for part in parts)
    }
