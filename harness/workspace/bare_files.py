"""A reference and an attempt as two bare files, without a workspace."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from harness.errors import InvalidFile, UsageError, refused
from harness.workspace.workspace import Workspace, find_workspace

_COMPILED = (".cu", ".cuh", ".cpp", ".cc", ".c", ".h", ".hpp", ".hip")


@contextmanager
def workspace_of_files(reference: Path, attempt: Path, start: Path) -> Iterator[tuple[Workspace, list[str], Path]]:
    """A workspace of copies, for as long as the context lasts, with the names of its problem and its solution, those of
    the files, and the folder for its results. Where `start` lies in a workspace, that one's configs and results serve.
    Raises: UsageError where a file can't be read; InvalidFile of the context, with the files' own names."""
    results = start / "results"
    with tempfile.TemporaryDirectory(prefix="harness-files-") as folder:
        root = Path(folder)
        copies = {
            root / "problems" / reference.stem / "problem.py": reference,
            root / "solutions" / reference.stem / attempt.stem / "solution.py": attempt,
        }
        for copy, source in copies.items():
            _copy(source, copy)
        with contextlib.suppress(UsageError):
            around = find_workspace(start)
            results = around.results
            if (around.root / "configs").is_dir():
                shutil.copytree(around.root / "configs", root / "configs")
        try:
            yield Workspace(root), [reference.stem, attempt.stem], results
        except InvalidFile as error:
            words = str(error)
            for copy, source in copies.items():
                words = words.replace(str(copy), str(source))
            raise InvalidFile(words) from None


def _copy(source: Path, target: Path) -> None:
    if not source.is_file():
        raise UsageError(f"{source}: No such file")
    if source.suffix in _COMPILED:
        raise UsageError(
            f"{source}: no Python file: name one with ModelNew that has this text in load_inline's cuda_sources"
        )
    target.parent.mkdir(parents=True)
    with refused(UsageError, str(source)):
        shutil.copyfile(source, target)
