"""KernelBench's problems, and the samples of its runs, as problems and solutions of a workspace."""

from __future__ import annotations

import ast
import json
import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from harness.errors import HarnessError, UsageError, refused
from harness.model.kernelbench import KernelBenchProblem, solution_name
from harness.plain_file import LONGEST_TEXT, read_plain
from harness.python_text import parse
from harness.suggest import did_you_mean
from harness.workspace.problem import load_bare_problem
from harness.workspace.scaffold import write_folder
from harness.workspace.workspace import Workspace

DEFAULT_LEVELS = (1, 2, 3)

_PROBLEM_FILE = re.compile(r"(\d+)(?:_[A-Za-z0-9_.-]*)?")
_SAMPLE_FILE = re.compile(r"level_(\d+)_problem_(\d+)_sample_(\d+)_kernel\.py")
_RUN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")

_Problems = dict[tuple[int, int], KernelBenchProblem]


@dataclass
class Imported:
    """New folders, folders that hold the same already, and what was left out, each with why. A sample without ModelNew
    counts as one that fails, as in KernelBench; `without_model_new` names those."""

    problems: list[str] = field(default_factory=list)
    solutions: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    without_model_new: list[str] = field(default_factory=list)


def import_kernelbench(
    workspace: Workspace, checkout: Path, levels: Sequence[int] = (), runs: Sequence[str] = ()
) -> Imported:
    """Copy problems of the levels (1 to 3) and their samples of the runs (all) into the workspace; nothing is
    overwritten.

    Raises: UsageError where `checkout` is no checkout of KernelBench.
    """
    if not (checkout / "KernelBench").is_dir():
        raise UsageError(f"{checkout} holds no folder KernelBench: name a checkout of KernelBench")
    found = Imported()
    problems: _Problems = {}
    wanted = tuple(dict.fromkeys(levels)) or DEFAULT_LEVELS
    for level in wanted:
        _import_level(workspace, checkout / "KernelBench" / f"level{level}", level, problems, found)
    for run in _runs(checkout / "runs", runs, found):
        _import_run(workspace, checkout / "runs" / run, wanted, problems, found)
    return found


def _import_level(workspace: Workspace, folder: Path, level: int, problems: _Problems, found: Imported) -> None:
    if not folder.is_dir():
        found.left_out.append(f"{folder}: there is no level {level}")
        return
    by_number: dict[tuple[int, ...], list[Path]] = defaultdict(list)
    for path in sorted(folder.glob("*.py")):
        if match := _PROBLEM_FILE.fullmatch(path.stem):
            by_number[int(match[1]),].append(path)
        else:
            found.left_out.append(f"{path}: the name doesn't begin with a number and '_', or has other letters")
    for (number,), path in _single(by_number, "problem", found):
        problem = KernelBenchProblem(level, number, path.stem)
        try:
            text = _read(path)
            load_bare_problem(text.encode(), path)
            made = _put(workspace.root / "problems" / problem.name, {"problem.py": text})
        except HarnessError as error:
            found.left_out.append(str(error))
            continue
        problems[level, number] = problem
        (found.problems if made else found.kept).append(problem.name)


def _import_run(
    workspace: Workspace, folder: Path, levels: Collection[int], problems: _Problems, found: Imported
) -> None:
    by_sample: dict[tuple[int, ...], list[Path]] = defaultdict(list)
    for path in sorted(folder.glob("*.py")):
        match = _SAMPLE_FILE.fullmatch(path.name)
        if match is None:
            found.left_out.append(f"{path}: the name is not level_L_problem_P_sample_S_kernel.py")
        elif int(match[1]) in levels:
            by_sample[int(match[1]), int(match[2]), int(match[3])].append(path)
    for (level, number, sample), path in _single(by_sample, "sample", found):
        problem = problems.get((level, number))
        if problem is None:
            found.left_out.append(f"{path}: level {level} has no problem {number} here")
            continue
        try:
            text = _read(path)
            name = solution_name(folder.name, sample)
            about = f"author: {json.dumps(folder.name)}\n"
            texts = {"solution.py": text, "solution.yaml": about}
            made = _put(workspace.root / "solutions" / problem.name / name, texts)
        except HarnessError as error:
            found.left_out.append(str(error))
            continue
        (found.solutions if made else found.kept).append(f"{problem.name}/{name}")
        if not _defines_model_new(text):
            found.without_model_new.append(str(path))


def _runs(folder: Path, wanted: Sequence[str], found: Imported) -> Iterator[str]:
    known = sorted(path.name for path in folder.iterdir() if path.is_dir()) if folder.is_dir() else []
    for run in dict.fromkeys(wanted or known):
        if run not in known:
            found.left_out.append(f"{folder / run}: there is no such run.{did_you_mean(run, known)}")
        elif not _RUN.fullmatch(run):
            found.left_out.append(f"{folder / run}: a run's name has letters, digits, '_', '-' and '.'; rename it")
        else:
            yield run


def _single(
    files: dict[tuple[int, ...], list[Path]], kind: str, found: Imported
) -> Iterator[tuple[tuple[int, ...], Path]]:
    """Leave out files of one number: nobody can say which of two is meant."""
    for key, (path, *others) in sorted(files.items()):
        if others:
            names = ", ".join(other.name for other in (path, *others))
            found.left_out.append(f"{path.parent}: the same {kind} several times: {names}")
        else:
            yield key, path


def _defines_model_new(text: str) -> bool:
    """Say whether the text defines ModelNew. What doesn't parse is a sample as well, and fails as one: there a class's
    head is enough."""
    try:
        tree = parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return re.search(r"^class\s+ModelNew\b", text, re.MULTILINE) is not None
    return "ModelNew" in {name for node in tree.body for name in _bound_names(node)}


def _bound_names(statement: ast.stmt) -> Iterator[str]:
    for node in ast.walk(statement):
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            yield node.name
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.alias):
            yield node.asname or node.name


def _put(folder: Path, texts: dict[str, str]) -> bool:
    """Write the folder and say whether it is new; False where it holds the same. Raises: UsageError where it holds
    something else."""
    if folder.exists():
        name, text = next(iter(texts.items()))
        if (folder / name).is_file() and _read(folder / name) == text:
            return False
        raise UsageError(f"{folder} is there already, with another {name}: remove it first")
    write_folder(folder, texts)
    return True


def _read(path: Path) -> str:
    try:
        with refused(UsageError, f"can't read {path}"):
            return read_plain(path, LONGEST_TEXT).decode("utf-8")
    except UnicodeDecodeError:
        raise UsageError(f"{path}: not UTF-8") from None
