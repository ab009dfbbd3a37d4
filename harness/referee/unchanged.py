"""Check whether the harness's own files and the problem are still those that a run began with.

A worker can't write them. Its user would be their owner if it could; a change by anybody else is an honest edit, which
spoils what was judged meanwhile all the same.
"""

from __future__ import annotations

import functools
import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

from harness.errors import HarnessError, InvalidFile
from harness.sandbox.outcome import SolutionFailed
from harness.sandbox.user_signal import is_own_user
from harness.workspace.problem import Problem

_OWN_PACKAGE = Path(__file__).parents[1]


@functools.cache
def remember_harness() -> dict[Path, tuple[object, ...]]:
    """The package's files as they are at the first call, which comes before any code of a solution runs."""
    return {path: (_facts(path), _digest(path)) for path in _files(_OWN_PACKAGE)}


def change_meanwhile(problem: Problem, sha256: str) -> SolutionFailed | HarnessError | None:
    """Return what is to be said of the evaluation where files have changed; None where none has. `sha256` is the
    problem's at its beginning."""
    changed = _changed_of_harness()
    if _hash_of(problem) != sha256:
        changed += [problem.folder, *_files(problem.folder)]
    written = [path for path in changed if path.exists() and is_own_user(path.lstat().st_uid)]
    if written:
        observed = f"a worker's user has written {written[0].name}"
        return SolutionFailed.cheating("harness_files", observed, "\n".join(map(str, written)), files=len(written))
    if changed:
        return HarnessError(f"{changed[0]} was changed while the solution was judged; evaluate it again")
    return None


def _hash_of(problem: Problem) -> str | None:
    try:
        return problem.sha256
    except InvalidFile:
        return None


def _changed_of_harness() -> list[Path]:
    """Contents are read only where size, times or the like differ: a touched file is no other."""
    known = remember_harness().items()
    return [path for path, (facts, digest) in known if _facts(path) != facts and _digest(path) != digest]


def _files(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.rglob("*")):
        if path.suffix != ".pyc" and path.is_file():
            yield path


def _facts(path: Path) -> tuple[int, ...] | None:
    try:
        facts = os.stat(path)
    except OSError:
        return None
    return facts.st_ino, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns, facts.st_uid


def _digest(path: Path) -> bytes | None:
    try:
        return hashlib.sha256(path.read_bytes()).digest()
    except OSError:
        return None
