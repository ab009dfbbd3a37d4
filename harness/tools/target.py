"""What is to be looked at, by the names that the user gave, and where what is found is kept."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from pathlib import Path

from harness.errors import MachineError, UsageError
from harness.workspace.problem import FULL, Problem
from harness.workspace.solution import Solution
from harness.workspace.workspace import Workspace, select_cases

_SMALL = "small"


@dataclass(frozen=True)
class Target:
    """A solution, or the reference where that is None, on one case."""

    workspace: Workspace
    problem: Problem
    case: str
    solution: Solution | None

    @property
    def name(self) -> str:
        """'maxpool2d/plain', 'maxpool2d/reference'."""
        return f"{self.problem.name}/{self.solution.name if self.solution else 'reference'}"


def choose_target(
    workspace: Workspace, problem: str, solution: str | None, case: str | None, of_reference: bool, is_small: bool
) -> Target:
    """`solution` may be left out where the problem has one alone. `case`: by default 'full', or, if it `is_small` that
    is wanted, the one named 'small', else the first besides 'full'.

    Raises: UsageError.
    """
    chosen = workspace.problem(problem)
    if of_reference and solution is not None:
        raise UsageError(f"--arm reference looks at the reference of '{problem}': leave '{solution}' out")
    return Target(
        workspace,
        chosen,
        select_cases(chosen, [case])[0] if case else _default_case(chosen, is_small),
        None if of_reference else _solution(workspace, problem, solution),
    )


def folder_for(target: Target, chosen: Path | None, results: Path, kind: str) -> Path:
    """`chosen`, or a new folder below `results`, made. Raises: MachineError."""
    now = datetime.datetime.now(datetime.timezone.utc)
    name = f"{now:%Y%m%dT%H%M%SZ}-{target.name.replace('/', '-')}-{target.case}"
    folder = (chosen or results / kind / name).absolute()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise MachineError(f"{folder} can't be made: {error.strerror}; name another with --output") from error
    return folder


def _solution(workspace: Workspace, problem: str, name: str | None) -> Solution:
    known = workspace.solution_names(problem)
    if name is None and len(known) > 1:
        raise UsageError(f"'{problem}' has {len(known)} solutions, name one: {', '.join(known)}")
    return workspace.solutions(problem, [name] if name else [])[0]


def _default_case(problem: Problem, is_small: bool) -> str:
    """A case that its author calls small, where a small one is wanted and there is one."""
    if not is_small or len(problem.cases) == 1:
        return FULL
    return _SMALL if _SMALL in problem.cases else next(name for name in problem.cases if name != FULL)
