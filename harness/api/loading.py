"""Problems and solutions from what a caller has: an object, a folder, a file, a name, a source text."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import re
import shutil
import tempfile
import time
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TextIO

from harness.errors import UsageError
from harness.workspace import problem as problem_folder
from harness.workspace import solution as solution_folder
from harness.workspace.problem import Problem
from harness.workspace.solution import Solution
from harness.workspace.workspace import find_workspace

_FOLDERS = "harness-sources-"
_ABANDONED_S = 60
"""The age from which a folder that nobody has locked is removed: it is made before its lock."""


def load_problem(problem: str | Path, *, workspace: Path | None = None) -> Problem:
    """A problem by the path of its folder, or by its name in a workspace (default: the one around the working folder).

    Raises:
        UsageError: there is no such problem. InvalidFile: problem.py or problem.yaml breaks its rules.
    """
    if (folder := Path(problem)).is_dir():
        return problem_folder.load_problem(folder.absolute())
    _refuse_path(problem, "problem")
    return find_workspace(workspace).problem(str(problem))


def load_solution(solution: str | Path, *, problem: str | None = None, workspace: Path | None = None) -> Solution:
    """A solution by the path of its folder, or by its name among those of `problem` in a workspace.

    The solution's Python isn't executed. Raises:
        UsageError: there is no such solution. InvalidFile: the folder or solution.yaml breaks its rules.
    """
    if (folder := Path(solution)).is_dir():
        return solution_folder.load_solution(folder.absolute())
    _refuse_path(solution, "solution")
    if problem is None:
        raise UsageError(f"solution '{solution}' is no folder; to find it by its name, say of which problem")
    (found,) = find_workspace(workspace).solutions(problem, [str(solution)])
    return found


def source_name(text: str) -> str:
    """The name of a solution that is given as a text."""
    return f"source-{_digest(text.encode(errors='surrogatepass'))}"


def folder_name(name: str) -> str:
    """A name as a solution's folder may have it."""
    return re.sub(r"[^A-Za-z0-9_.-]", "_", name).lstrip(".") or "unnamed"


class Scratch(AbstractContextManager["Scratch"]):
    """Folders for sources that have none. A context manager; leaving it removes them."""

    def __init__(self, workspace: Path | None = None) -> None:
        self._workspace = workspace
        _remove_abandoned()
        self._folder = tempfile.TemporaryDirectory(prefix=_FOLDERS)
        self._lock = (self.root / "lock").open("w")
        with contextlib.suppress(OSError):  # a file system without locks: nobody can take it either
            _lock(self._lock)
        self._problems: dict[str, Problem] = {}

    @property
    def root(self) -> Path:
        return Path(self._folder.name)

    def problem(self, given: Problem | Path | str) -> Problem:
        """Raises: UsageError, InvalidFile."""
        if isinstance(given, Problem):
            return given
        _require_text(given, "problem")
        text = _problem_source(given)
        if text is None:
            return load_problem(given, workspace=self._workspace)
        digest = _digest(text)
        if digest not in self._problems:
            name = given.stem if isinstance(given, Path) else f"problem-{digest}"
            folder = self._write(Path("problems", digest, folder_name(name)), "problem.py", text)
            self._problems[digest] = problem_folder.load_problem(folder)
        return self._problems[digest]

    def solution(self, given: Solution | Path | str, problem: Problem, name: str | None = None) -> Solution:
        """A string is a source whatever it says: what a model answers must never be taken for a name.

        What isn't UTF-8 is passed on as it is: Python will refuse it, which is a verdict on its author.
        Raises: UsageError, InvalidFile.
        """
        if isinstance(given, Solution):
            return given
        _require_text(given, "solution")
        if isinstance(given, Path) and not given.is_file():
            return load_solution(given, problem=problem.name, workspace=self._workspace)
        text = given.read_bytes() if isinstance(given, Path) else given.encode(errors="surrogatepass")
        chosen = name or (given.stem if isinstance(given, Path) else source_name(given))
        place = Path(tempfile.mkdtemp(dir=self.root)).relative_to(self.root)
        return solution_folder.load_solution(
            self._write(place / problem.name / folder_name(chosen), "solution.py", text)
        )

    def discard(self, solution: Solution) -> None:
        """Remove the folder of a solution, if it was made here."""
        if self.root in solution.folder.parents:
            shutil.rmtree(solution.folder.parents[1], ignore_errors=True)

    def close(self) -> None:
        self._folder.cleanup()
        self._lock.close()

    def __exit__(self, *_: object) -> None:
        self.close()

    def _write(self, place: Path, file: str, text: bytes) -> Path:
        folder = self.root / place
        folder.mkdir(parents=True, exist_ok=True)
        (folder / file).write_bytes(text)
        return folder


def _remove_abandoned() -> None:
    """Remove folders whose process was killed: its lock is gone."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_FOLDERS}*"):
        with contextlib.suppress(OSError):
            facts = folder.lstat()
            if facts.st_uid == os.geteuid() and time.time() - facts.st_mtime > _ABANDONED_S:
                with (folder / "lock").open("r+") as file:
                    _lock(file)
                    shutil.rmtree(folder)


def _lock(file: TextIO) -> None:
    """Raises: BlockingIOError where another has it."""
    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _require_text(given: object, kind: str) -> None:
    """Refuse other types, for callers who don't check them."""
    if not isinstance(given, (str, Path)):
        raise UsageError(f"a {kind} is a {kind.capitalize()}, a Path or a str; not {type(given).__name__}")


def _problem_source(given: Path | str) -> bytes | None:
    """The text of a file's path, or of a string with a line break: no name has one, every problem does."""
    if isinstance(given, Path):
        return given.read_bytes() if given.is_file() else None
    return given.encode(errors="surrogatepass") if "\n" in given else None


def _refuse_path(given: str | Path, kind: str) -> None:
    """A path that leads nowhere is not looked up as a name."""
    if isinstance(given, Path) or "/" in given:
        what = "file" if Path(given).suffix == ".py" else f"{kind} folder"
        raise UsageError(f"no such {what}: {given}")


def _digest(text: bytes) -> str:
    return hashlib.sha256(text).hexdigest()[:12]
