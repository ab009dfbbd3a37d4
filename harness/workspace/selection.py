"""The choice of solutions and problems: names and patterns into tasks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from harness.errors import UsageError
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


def select_tasks(
    workspace: Workspace, problems: Sequence[str] = (), solutions: Sequence[str] = (), cases: Sequence[str] = ()
) -> list[Task]:
    """Return every solution that the shell patterns (`*`, `?`, `[…]`) name, all of them where there is none.

    `cases` are names that each chosen problem must have; none means all.

    Raises:
        UsageError: a pattern matches nothing, or nothing is left. InvalidFile: a broken problem or solution.
    """
    tasks = []
    for name, mine in select_names(workspace, problems, solutions).items():
        problem = workspace.problem(name)
        selected = tuple(select_cases(problem, cases))
        tasks += [Task(problem, solution, selected) for solution in workspace.solutions(name, mine)]
    if not tasks:
        raise nothing_matches(workspace)
    return tasks


def select_names(
    workspace: Workspace, problems: Sequence[str] = (), solutions: Sequence[str] = ()
) -> dict[str, list[str]]:
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


def nothing_matches(workspace: Workspace) -> UsageError:
    return UsageError(f"no solution in {workspace.root / 'solutions'} matches; 'harness list' shows what there is")


def fits(name: str, patterns: Sequence[str]) -> bool:
    """Say whether one of the shell patterns names it; no pattern names all."""
    return not patterns or any(fnmatchcase(name, pattern) for pattern in patterns)


def _matching(names: Sequence[str], patterns: Sequence[str], kind: str) -> list[str]:
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name in names):
            raise UsageError(f"no {kind} matches '{pattern}'.{did_you_mean(pattern, names)}")
    return [name for name in names if fits(name, patterns)]
