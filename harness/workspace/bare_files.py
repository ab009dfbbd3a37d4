"""A reference and an attempt as two bare files, without a workspace."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from harness.errors import UsageError
from harness.workspace.workspace import Workspace


@contextmanager
def workspace_of_files(reference: Path, attempt: Path) -> Iterator[tuple[Workspace, list[str]]]:
    """A workspace of copies, for as long as the context lasts, with the names of its problem and its solution: those of
    the files. Raises: UsageError where one can't be read."""
    with tempfile.TemporaryDirectory(prefix="harness-files-") as folder:
        root = Path(folder)
        _copy(reference, root / "problems" / reference.stem / "problem.py")
        _copy(attempt, root / "solutions" / reference.stem / attempt.stem / "solution.py")
        yield Workspace(root), [reference.stem, attempt.stem]


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True)
    try:
        shutil.copyfile(source, target)
    except OSError as error:
        raise UsageError(f"{source}: {error.strerror or error}") from None
