"""Where what is built once is kept: extensions, the simulator's toolkit."""

from __future__ import annotations

import os
from pathlib import Path


def cache_folder() -> Path:
    """$HARNESS_CACHE, else harness/ in the user's cache folder."""
    if chosen := os.environ.get("HARNESS_CACHE"):
        return Path(chosen).absolute()
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache").absolute() / "harness"
