"""A room's face: the names that other rooms may use, each imported when it is first used."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

_NAMED = re.compile(r"^    from ([\w.]+) import (\([^)]*\)|.*)$", re.MULTILINE)


def lazy(package: str, file: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Make `__getattr__` and `__dir__` of a package from the lines that its file has for type checkers, indented under
    `if TYPE_CHECKING`: from module import name, or name as name where others' type checkers look on, too."""
    found = _NAMED.findall(Path(file).read_text(encoding="utf-8"))
    homes = {name: module for module, names in found for name in re.findall(r"\w+", names) if name != "as"}

    def get(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module '{package}' has no attribute '{name}'")
        return getattr(importlib.import_module(homes[name]), name)

    return get, lambda: sorted(homes)
