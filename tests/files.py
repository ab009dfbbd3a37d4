"""Files of a test, laid out in a folder."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path


def laid(root: Path, files: Mapping[str, str | bytes]) -> Path:
    """Write files by their paths below a folder, and return the folder."""
    for name, content in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    return root
