"""The choice of solutions and problems: names and patterns into tasks."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import partial

from harness.errors import InvalidFile, UsageError
from harness.python_text import parse
from harness.suggest import did_you_mean
from harness.workspace.problem import Problem
from harness.workspace.solution import Solution
from harness.workspace.workspace import Workspace, select_cases


@dataclass(frozen=True)
class Task:
    """One solution to evaluate on some cases of its problem."""

    problem: Problem
    solution: Solution
    cases: tuple[str, ...]


@dataclass(frozen=True)
class Broken:
    """A solution that can't be evaluated: a file of its own or of its problem breaks its rules."""

    problem: str
    solution: str
    error: InvalidFile


def select_tasks(
    workspace: Workspace, problems: Sequence[str] = (), solutions: Sequence[str] = (), cases: Sequence[str] = ()
) -> list[Task]:
    """Select like find_tasks(). Raises: also InvalidFile where a file breaks its rules."""
    tasks, broken = find_tasks(workspace, problems, solutions, cases)
    if broken:
        raise broken[0].error
    return tasks


def find_tasks(
    workspace: Workspace, problems: Sequence[str] = (), solutions: Sequence[str] = (), cases: Sequence[str] = ()
) -> tuple[list[Task], list[Broken]]:
    """Return every solution that the shell patterns (`*`, `?`, `[…]`) name, all of them where there is none, and those
    that are broken.

    `cases` are names that each chosen problem must have; none means all.

    Raises: UsageError where a pattern matches nothing, or nothing is left.
    """
    tasks: list[Task] = []
    broken: list[Broken] = []
    for name, mine in select_names(workspace, problems, solutions).items():
        found, faulty = tasks_of(workspace, name, mine, cases)
        tasks += found
        broken += faulty
    if not tasks and not broken:
        place = workspace.root / "solutions"
        raise UsageError(f"no solution in {place} matches; 'harness list' shows what there is")
    return tasks, broken


def tasks_of(
    workspace: Workspace, problem: str, solutions: Sequence[str] = (), cases: Sequence[str] = ()
) -> tuple[list[Task], list[Broken]]:
    """The named solutions of a problem, all of them where none is named, and those of them that are broken.

    Raises: UsageError for an unknown name or case, and where there is no solution.
    """
    try:
        loaded = workspace.problem(problem)
    except InvalidFile as error:
        if names := solutions or workspace.solution_names(problem):
            return [], [Broken(problem, name, error) for name in names]
        raise
    selected = tuple(select_cases(loaded, cases))
    tasks: list[Task] = []
    broken: list[Broken] = []
    for name in workspace.choose_solutions(problem, solutions):
        try:
            tasks.append(Task(loaded, workspace.solution(problem, name), selected))
        except InvalidFile as error:
            broken.append(Broken(problem, name, error))
    return tasks, broken


def faults_of(workspace: Workspace, problems: Sequence[str] | None = None) -> list[InvalidFile]:
    """Load these problems and their solutions: what is wrong with each. By default all of them, and every config; a
    solution without a problem is wrong, too."""
    loads: list[Callable[[], object]] = []
    found = []
    if problems is None:
        loads += [partial(workspace.config, str(path)) for path in sorted((workspace.root / "configs").glob("*.yaml"))]
        found += [InvalidFile(words) for words in _orphans(workspace)]
    for problem in workspace.problem_names() if problems is None else problems:
        loads.append(partial(workspace.problem, problem))
        loads += [partial(_require_model, workspace, problem, name) for name in workspace.solution_names(problem)]
    for load in loads:
        try:
            load()
        except InvalidFile as error:
            found.append(error)
    return found


def _require_model(workspace: Workspace, problem: str, name: str) -> None:
    """Raises: InvalidFile for a solution that breaks its rules; also, where it is to pass, for one that isn't Python or
    can't define ModelNew."""
    solution = workspace.solution(problem, name)
    if not solution.about.expected_verdict.passed:
        return
    path = solution.source_path
    source = path.read_bytes()
    try:
        with warnings.catch_warnings():  # such as of "\d": none ends a load
            warnings.simplefilter("ignore")
            parse(source)
    except SyntaxError as error:
        line = f":{error.lineno}" if error.lineno else ""  # none for a null byte
        raise InvalidFile(f"{path}{line}: {error.msg}") from None
    except (ValueError, RecursionError, MemoryError) as error:  # the last two: what is nested deep
        raise InvalidFile(f"{path}: {error}") from None
    if not (b"ModelNew" in source or b"import *" in source):
        raise InvalidFile(f"{path}: 'ModelNew' is not defined")


def _orphans(workspace: Workspace) -> Iterator[str]:
    """Folders of problems without a problem, of solutions that belong to none, and folders within that hold nothing."""
    problems = workspace.problem_names()
    for place in sorted((workspace.root / "problems").glob("*/")):
        is_meant = (place / "problem.yaml").exists() or (workspace.root / "solutions" / place.name).is_dir()
        if is_meant and place.name not in problems:
            yield f"{place / 'problem.py'} is missing: a problem folder holds problem.py with the reference Model"
    for folder in sorted((workspace.root / "solutions").glob("*/")):
        try:
            names = workspace.solution_names(folder.name)
        except UsageError as error:
            yield str(error)
            continue
        for each in sorted(folder.glob("*/")):
            if each.name not in names and not any(each.iterdir()):
                yield f"{each} is empty: put ModelNew into solution.py there, or remove the folder"
        if names and not (workspace.root / "problems" / folder.name).is_dir():
            yield f"{folder}: no problem has this name.{did_you_mean(folder.name, problems)}"


def select_names(workspace: Workspace, problems: Sequence[str], solutions: Sequence[str]) -> dict[str, list[str]]:
    """Return the solutions that the patterns name by problem, without reading their files; problems without any are
    left out.

    Raises: UsageError where a pattern matches nothing.
    """
    chosen = _matching(workspace.problem_names(), problems, "problem")
    with_solutions = {problem: names for problem in chosen if (names := workspace.solution_names(problem))}
    known = {name for names in with_solutions.values() for name in names}
    wanted = set(_matching(sorted(known), solutions, "solution"))
    fitting = {problem: [name for name in names if name in wanted] for problem, names in with_solutions.items()}
    return {problem: names for problem, names in fitting.items() if names}


def select_problems(workspace: Workspace, patterns: Sequence[str] = ()) -> list[str]:
    """The problems that the patterns name, all where there is none.

    Raises: UsageError where a pattern matches nothing, or there is no problem.
    """
    if not (names := workspace.problem_names()):
        raise UsageError(f"no problem in {workspace.root / 'problems'}: 'harness new problem' makes one")
    return _matching(names, patterns, "problem")


def fits(name: str, patterns: Sequence[str]) -> bool:
    """Say whether one of the shell patterns names it; no pattern names all."""
    return not patterns or any(fnmatchcase(name, pattern) for pattern in patterns)


def _matching(names: Sequence[str], patterns: Sequence[str], kind: str) -> list[str]:
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name in names):
            raise UsageError(f"no {kind} matches '{pattern}'.{did_you_mean(pattern, names)}")
    return [name for name in names if fits(name, patterns)]
