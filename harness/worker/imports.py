"""The modules that a worker imports and finds no bytecode of, listed for the referee (see builder.bytecode)."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable
from pathlib import Path


def lister(place: Path) -> Callable[[], None]:
    """A function that adds to the list at this place what was imported since its last call."""
    known = set(sys.modules)

    def list_imports() -> None:
        if len(sys.modules) == len(known):
            return
        new = sys.modules.keys() - known
        known.update(new)
        with contextlib.suppress(Exception):  # a solution's own modules may be anything
            specs = [getattr(sys.modules[name], "__spec__", None) for name in new]
            lacking = [one.origin for one in specs if one and one.cached and not os.path.exists(one.cached)]
            with place.open("a", encoding="utf-8") as file:
                file.writelines(f"{name}\n" for name in lacking)

    return list_imports if sys.pycache_prefix is not None else lambda: None
