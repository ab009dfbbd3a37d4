"""A solution's files as a worker sees them: exactly those that were hashed, but for what is kept back."""

from __future__ import annotations

from pathlib import Path

from harness.errors import HarnessError
from harness.model.record import hash_contents
from harness.sandbox.process import WorkerProcess
from harness.workspace.source_hash import judged_files

_KEPT_BACK = {"solution.yaml"}
"""Files that a solution doesn't see: what its author expects is none of its business."""


def bring(worker: WorkerProcess, folder: Path, sha256: str | None = None, compilers: str | None = None) -> str:
    """Give a worker a read-only copy of a solution, with what was built earlier for the very same files; the path of
    solution.py there, for Load. With `compilers` it may report texts of extensions, and gets those that were built.

    Raises: HarnessError as seen_files(), MachineError as WorkerProcess.ask().
    """
    worker.compilers = compilers
    return str(worker.bring(seen_files(folder, sha256), solution_place(folder)) / "solution.py")


def solution_place(folder: Path) -> Path:
    """Return where a solution's copy stands among a worker's files."""
    return Path("solutions", folder.parent.name, folder.name)


def seen_files(folder: Path, sha256: str | None = None) -> dict[str, bytes]:
    """Return what a worker sees of a solution's folder, by name. What was built from the very same files is known by
    their hash.

    Raises: HarnessError where the folder's hash isn't `sha256` any more.
    """
    contents = {name: path.read_bytes() for name, path in judged_files(folder).items()}
    if sha256 is not None and hash_contents(contents.items()) != sha256:
        raise HarnessError(f"{folder} was changed while it was judged; evaluate it again")
    return {name: content for name, content in contents.items() if not _is_kept_back(name)}


def _is_kept_back(name: str) -> bool:
    return name in _KEPT_BACK or ".git" in name.split("/")
