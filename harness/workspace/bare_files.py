"""A reference and an attempt as two bare files, without a workspace."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from harness.errors import UsageError
from harness.workspace.workspace import Workspace, find_workspace


@contextmanager
def workspace_of_files(reference: Path, attempt: Path, start: Path) -> Iterator[tuple[Workspace, list[str], Path]]:
    """A workspace of copies, for as long as the context lasts, with the names of its problem and its solution, those of
    the files, and the folder for its results. Where `start` lies in a workspace, that one's configs and results serve.
    Raises: UsageError where a file can't be read."""
    results = start / "results"
    with tempfile.TemporaryDirectory(prefix="harness-files-") as folder:
        root = Path(folder)
        _copy(reference, root / "problems" / reference.stem / "problem.py")
        _copy(attempt, root / "solutions" / reference.stem / attempt.stem / "solution.py")
        with contextlib.suppress(UsageError):
            around = find_workspace(start)
            results = around.results
            if (around.root / "configs").is_dir():
                shutil.copytree(around.root / "configs", root / "configs")
        yield Workspace(root), [reference.stem, attempt.stem], results


def _copy(source: Path, target: Path) -> None:
    if not source.is_file():
        raise UsageError(f"{source}: No such file")
    target.parent.mkdir(parents=True)
    try:
        shutil.copyfile(source, target)
    except OSError as error:
        raise UsageError(f"{source}: {error.strerror or error}") from None
