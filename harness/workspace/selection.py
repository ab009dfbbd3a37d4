"""Which solutions of which problems: names and patterns into tasks."""

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
    """Every solution that the shell patterns (`*`, `?`, `[…]`) name, all of them where there is none.

    `cases` are names that each chosen problem must have; none means all.

    Raises:
        UsageError: a pattern matches nothing, or nothing is left. InvalidFile: a broken problem or solution.
    """
    chosen = _matching(workspace.problem_names(), problems, "problem")
    with_solutions = [(problem, names) for problem in chosen if (names := workspace.solution_names(problem))]
    known = {name for _, names in with_solutions for name in names}
    wanted = _matching(sorted(known), solutions, "solution")
    tasks = []
    for name, available in with_solutions:
        if mine := [solution for solution in available if solution in wanted]:
            problem = workspace.problem(name)
            selected = tuple(select_cases(problem, cases))
            tasks += [Task(problem, solution, selected) for solution in workspace.solutions(name, mine)]
    if not tasks:
        raise UsageError(f"no solution in {workspace.root / 'solutions'} matches; 'harness list' shows what there is")
    return tasks


def _matching(names: Sequence[str], patterns: Sequence[str], kind: str) -> list[str]:
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name in names):
            raise UsageError(f"no {kind} matches '{pattern}'.{did_you_mean(pattern, names)}")
    return [name for name in names if not patterns or any(fnmatchcase(name, pattern) for pattern in patterns)]
