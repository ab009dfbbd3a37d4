"""One hash for the files of a folder."""

from __future__ import annotations

import hashlib
from pathlib import Path


def hash_folder(folder: Path) -> str:
    """SHA-256 over names and contents of all files below `folder`, compiled Python and hidden files left out."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        parts = path.relative_to(folder).parts
        if path.is_file() and "__pycache__" not in parts and not any(part.startswith(".") for part in parts):
            for piece in ("/".join(parts).encode(), path.read_bytes()):
                digest.update(len(piece).to_bytes(8, "big") + piece)
    return digest.hexdigest()
