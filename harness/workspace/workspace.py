"""The folder that holds problems/ and solutions/: it is found, or made of bare files, and has things by name."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from harness.errors import InvalidFile, UsageError, refused
from harness.model.config import Config
from harness.suggest import did_you_mean
from harness.workspace.problem import Problem, load_problem
from harness.workspace.solution import Solution, load_solution
from harness.workspace.yaml_file import read_yaml

_COMPILED = (".cu", ".cuh", ".cpp", ".cc", ".c", ".h", ".hpp", ".hip")
"""Endings of sources that only a compiler reads."""


@dataclass(frozen=True)
class Workspace:
    """A workspace, whose names are folder names. Nothing is loaded before it is asked for."""

    root: Path

    @property
    def results(self) -> Path:
        return self.root / "results"

    def problem_names(self) -> list[str]:
        """Return the problems' names. Raises: UsageError for a folder whose name can't be shown."""
        return _folders_with(self.root / "problems", "problem.py")

    def problem(self, name: str) -> Problem:
        """Load a problem. Raises: UsageError for an unknown name, InvalidFile for a broken problem."""
        folder = self.root / "problems"
        if not _is_plain(name) or not _exists(folder / name / "problem.py"):
            _require(name, self.problem_names(), "problem", folder)
        return _with_plain_cases(load_problem(folder / name))

    def solution_names(self, problem: str) -> list[str]:
        """Return the names of a problem's solutions. Raises: UsageError for a folder whose name can't be shown."""
        return _folders_with(self.root / "solutions" / problem, "solution.py")

    def solutions(self, problem: str, names: Sequence[str] = ()) -> list[Solution]:
        """Load what choose_solutions() chooses. Raises: like it; InvalidFile for a broken solution."""
        return [self.solution(problem, name) for name in self.choose_solutions(problem, names)]

    def solution(self, problem: str, name: str) -> Solution:
        """Load a solution that there is. Raises: InvalidFile for a broken one."""
        return load_solution(self.root / "solutions" / problem / name)

    def choose_solutions(self, problem: str, names: Sequence[str] = ()) -> list[str]:
        """The solutions of a problem by names or patterns (`*`, `?`, `[…]`), all where there is none; each once.

        Raises: UsageError where nothing has such a name or there is no solution at all.
        """
        folder = self.root / "solutions" / problem
        known = self.solution_names(problem)
        chosen, as_named = list[str](), set(known)
        for name in names:
            fitting = [name] if name in as_named else [one for one in known if fnmatchcase(one, name)]
            if not fitting:
                _require(name, known, "solution", folder)
            chosen += fitting
        if not known:
            raise UsageError(
                f"no solution of '{problem}': put ModelNew into {folder}/<name>/solution.py, or start with "
                f"'harness new solution {problem} first'"
            )
        return list(dict.fromkeys(chosen or known))

    def config_names(self) -> list[str]:
        return sorted(path.stem for path in (self.root / "configs").glob("*.yaml"))

    def config(self, name: str | None) -> Config:
        """The config of a name in configs/ or of a file's path; the defaults for None.

        Raises: UsageError where there is no such file, InvalidFile where it breaks its rules.
        """
        if name is None:
            return Config()
        for path in (Path(name), self.root / "configs" / f"{name}.yaml"):
            if _exists(path) and not os.path.isdir(path):
                return read_yaml(Config, path)
        raise UsageError(
            f"no config '{name}', neither a file nor in configs/.{did_you_mean(name, self.config_names())}"
        )


def find_workspace(start: Path | None = None) -> Workspace:
    """The nearest folder from `start`, by default the working folder, upwards that holds problems/.

    Raises: UsageError where there is none.
    """
    start = (start or Path.cwd()).absolute()
    for folder in (start, *start.parents):
        if (folder / "problems").is_dir():
            return Workspace(folder)
    raise UsageError(f"no problems/ in {start} or above it: go to a workspace, or make one with 'harness init'")


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


def select_cases(problem: Problem, names: Sequence[str]) -> list[str]:
    """The named cases, all where none is named. Raises: UsageError for an unknown one."""
    for name in names:
        _require(name, problem.cases, "case", None, f" of '{problem.name}'")
    return list(dict.fromkeys(names)) or list(problem.cases)


def _with_plain_cases(problem: Problem) -> Problem:
    """Return the problem. Raises: InvalidFile where the name of a case has a blank."""
    if split := next((name for name in problem.cases if re.search(r"\s", name)), None):
        raise InvalidFile(
            f"{problem.folder / 'problem.yaml'}: cases.{split}: blanks separate the values of HARNESS_RUN_CASE; name "
            f"the case '{'_'.join(split.split()) or 'other'}'"
        )
    return problem


def _folders_with(folder: Path, file: str) -> list[str]:
    """List the folders that hold the file, and those where nobody may look: what is there would pass for missing, and
    whoever loads it is told.

    Raises: UsageError for a name that would steer the terminal or the CI that shows it, and where `folder` can't be
    read."""
    try:
        names = sorted(name for name in os.listdir(folder) if _exists(os.path.join(folder, name, file)))
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise UsageError(f"{error.filename}: can't be read: {error.strerror}") from error
    for name in names:
        if not _is_plain(name):
            raise UsageError(
                f"{folder / ascii(name)}: a folder's name has printable letters, and neither '::' nor '##[', which "
                "command a CI; rename it"
            )
    return names


def _is_plain(name: str) -> bool:
    """Say whether it is a folder's name, and one that neither a terminal nor a CI takes for a command."""
    is_name = name not in ("", ".", "..") and "/" not in name
    return is_name and name.isprintable() and "::" not in name and "##[" not in name


def _exists(path: str | Path) -> bool:
    """Say whether it exists, were it a link that leads nowhere; True where that can't be told."""
    try:
        os.lstat(path)
    except PermissionError:
        return True
    except OSError:
        return False
    return True


def _require(name: str, known: Iterable[str], kind: str, folder: Path | None, of: str = "") -> None:
    names = list(known)
    if name not in names:
        if folder and Path(name).name == name != ".." and os.path.isdir(folder / name):
            raise UsageError(f"{folder / name} holds no {kind}.py: add it, or take another folder")
        place = f" in {folder}" if folder else of
        raise UsageError(f"no {kind} '{name}'{place}.{did_you_mean(name, names)}")


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
