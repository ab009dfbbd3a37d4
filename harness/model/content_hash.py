"""The hash by which records name the files of a problem or of a solution."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable


def hash_contents(contents: Iterable[tuple[str, bytes]]) -> str:
    """SHA-256 over names and contents, in their order."""
    digest = hashlib.sha256()
    for name, content in contents:
        for piece in (name.encode(errors="surrogateescape"), content):
            digest.update(len(piece).to_bytes(8, "big") + piece)
    return digest.hexdigest()


def is_prose(name: str) -> bool:
    """Whether a file of a solution's is a log or a description, which the solution itself never sees: what was measured
    can be written down there, and remains a measurement of the same solution."""
    return name.endswith(".md")
