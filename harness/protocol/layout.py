"""Where both sides look for a file in the cache; neither tells the other a path."""

from __future__ import annotations

import re
from pathlib import Path


def extensions_folder(cache: Path, backend: str) -> Path:
    return cache / "extensions" / backend


def extension_log(cache: Path, backend: str, key: str) -> Path:
    """The compiler's whole output for the extension of a key. Raises: ValueError where that is no key."""
    if not re.fullmatch("[0-9a-f]{32}", key):
        raise ValueError(f"no key of an extension: {key[:80]!r}")
    return extensions_folder(cache, backend) / "logs" / f"{key}.log"
