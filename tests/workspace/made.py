"""Folders of a few files, for tests of what reads them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from harness.workspace.workspace import Workspace


def write_files(folder: Path, texts: Mapping[str, str]) -> Path:
    """Write these files below the folder, with the folders that they need, and return it."""
    for name, text in texts.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def made_workspace(folder: Path, problem: str, source: str, solutions: Mapping[str, str]) -> Workspace:
    """A workspace with a problem and solutions to it: what stands in its problem.py and in each solution.py."""
    texts = {f"solutions/{problem}/{name}/solution.py": text for name, text in solutions.items()}
    return Workspace(write_files(folder, {f"problems/{problem}/problem.py": source, **texts}))
