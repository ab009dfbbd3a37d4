"""harness.yaml and [tool.harness] of pyproject.toml: values for the command line's options, as they are written."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.errors import InvalidFile
from harness.plain_file import read_text

SETTINGS_FILE = "harness.yaml"
_LONGEST_LINE = 10_000
"""The most characters of a line of pyproject.toml: a key a.a.a… takes the square of its length."""


@dataclass(frozen=True)
class SettingsFile:
    """One file's settings, not yet held against the options there are."""

    path: Path
    values: Mapping[str, Any]

    @property
    def label(self) -> str:
        """The name of the file, and for pyproject.toml the table in it."""
        return str(self.path) if self.path.name == SETTINGS_FILE else f"{self.path} [tool.harness]"


def find_settings(start: Path) -> list[SettingsFile]:
    """The settings that hold in `start`, the strongest first: harness.yaml, then pyproject.toml.

    harness.yaml stands beside problems/, or in `start` where there is no workspace; pyproject.toml there or in the
    nearest folder above that has one.

    Raises:
        InvalidFile: a file is broken, or its settings are no mapping.
    """
    root = _root(start)
    found = []
    if (path := root / SETTINGS_FILE).is_file():
        from harness.workspace.yaml_file import read_mapping

        found.append(SettingsFile(path, read_mapping(path)))
    for folder in (root, *root.parents):
        if (path := folder / "pyproject.toml").is_file():
            table = _tool_table(path)
            found += [SettingsFile(path, table)] if table is not None else []
            break
    return found


def _root(start: Path) -> Path:
    return next((folder for folder in (start, *start.parents) if (folder / "problems").is_dir()), start)


def _tool_table(path: Path) -> dict[str, Any] | None:
    """Return [tool.harness] of a pyproject.toml; a file that doesn't mention it isn't parsed, so its faults aren't
    ours."""
    try:
        text = read_text(path)
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidFile(f"{path}: can't be read: {error}") from None
    if "harness" not in text:
        return None
    if max(map(len, text.split("\n"))) > _LONGEST_LINE:
        raise InvalidFile(f"{path}: a line of more than {_LONGEST_LINE} characters; break it")
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        tool = tomllib.loads(text).get("tool", {})
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise InvalidFile(f"{path}: not valid TOML: {error}") from None
    table = tool.get("harness") if isinstance(tool, dict) else None
    if table is not None and not isinstance(table, dict):
        raise InvalidFile(f"{path}: tool.harness: {type(table).__name__} where a table belongs")
    return table
