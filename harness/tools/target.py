"""The target of a tool, by the names that the user gave, and the place where findings are kept."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from pathlib import Path

from harness.errors import MachineError, UsageError
from harness.model.config import LimitsConfig
from harness.tools.toolbox import find_tool
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


@dataclass(frozen=True)
class Inspection:
    """A target, NVIDIA's `program` to look at it, and the GPU's name. `folder` keeps files; a run may take
    `timeout_s`."""

    target: Target
    program: Path
    gpu: str
    folder: Path
    results: Path
    limits: LimitsConfig
    timeout_s: float


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


def inspection(
    target: Target, program: str, kind: str, output: Path | None, results: Path | None, timeout_s: float
) -> Inspection:
    """`kind` names the folder of such files below the results. Raises: MachineError without a GPU or the program."""
    kept = results or target.workspace.results
    gpu, found = require_gpu(), find_tool(program)
    folder = folder_for(target, output, kept, kind)
    return Inspection(target, found, gpu, folder, kept, target.workspace.config(None).limits, timeout_s)


def require_gpu() -> str:
    """The name of the first visible GPU. Raises: MachineError."""
    import torch

    if not torch.cuda.is_available():
        raise MachineError(
            "no CUDA GPU that this torch can use, and NVIDIA's tools look into nothing else; run 'harness doctor'"
        )
    return str(torch.cuda.get_device_name())


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
