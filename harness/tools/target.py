"""The target of a tool by the names that the user gave, NVIDIA's tool to look at it, and where findings are kept."""

from __future__ import annotations

import datetime
import os
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import yaml

from harness.errors import MachineError, UsageError, refused
from harness.model.config import LimitsConfig
from harness.model.environment import MachineFinding
from harness.workspace.problem import FULL, Problem
from harness.workspace.solution import Solution
from harness.workspace.workspace import Workspace, select_cases

_SMALL = "small"
_PACKAGES = {"ncu": "Nsight Compute (package nsight-compute)", "compute-sanitizer": "the CUDA toolkit's sanitizer"}
_USUAL = ("/usr/local/cuda",)
_OWN_FOLDERS = Path("/opt/nvidia/nsight-compute")
"""A place with a folder for each version of Nsight Compute."""


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
            "no CUDA GPU that this torch can use, and NVIDIA's tools look into nothing else; run 'harness doctor'. "
            "'harness run PROBLEM SOLUTION --sanitize' looks at every access on the simulator"
        )
    return str(torch.cuda.get_device_name())


def find_tool(name: str, environment: Mapping[str, str] = os.environ) -> Path:
    """`name` on the PATH, in the CUDA toolkit or in Nsight Compute's own folder, the newest. Raises: MachineError."""
    if found := shutil.which(name, path=environment.get("PATH")):
        return Path(found).absolute()  # it will be started from another folder
    homes = filter(None, [environment.get("CUDA_HOME"), environment.get("CUDA_PATH"), *_USUAL])
    of_toolkit = [Path(home) / folder / name for home in homes for folder in ("bin", "compute-sanitizer")]
    for place in (*of_toolkit, *sorted(_OWN_FOLDERS.glob(f"*/{name}"), reverse=True)):
        if os.access(place, os.X_OK):
            return place
    raise MachineError(
        f"no '{name}' on the PATH, in CUDA_HOME or in /usr/local/cuda: install {_PACKAGES[name]}, or set CUDA_HOME"
    )


def examine_tools() -> list[MachineFinding]:
    """Findings on whether they are there, for `harness doctor`."""
    simulator = "; 'harness run --sanitize' looks at the simulator's accesses without it"
    return [_examine("ncu", "harness profile"), _examine("compute-sanitizer", "harness sanitize", simulator)]


def refusal(said: str) -> str | None:
    """Say what to do about a tool that printed this; None where it says nothing that is known."""
    known = yaml.safe_load(Path(__file__).with_name("refusals.yaml").read_text(encoding="utf-8"))
    return next((str(one["remedy"]) for one in known if re.search(one["pattern"], said)), None)


def folder_for(target: Target, chosen: Path | None, results: Path, kind: str) -> Path:
    """`chosen`, or a new folder below `results`, made. Raises: MachineError."""
    now = datetime.datetime.now(datetime.timezone.utc)
    name = f"{now:%Y%m%dT%H%M%SZ}-{target.name.replace('/', '-')}-{target.case}"
    folder = (chosen or results / kind / name).absolute()
    with refused(MachineError, f"{folder} can't be made", "name another with --output"):
        folder.mkdir(parents=True, exist_ok=True)
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


def _examine(name: str, command: str, otherwise: str = "") -> MachineFinding:
    try:
        return MachineFinding(name, "good", str(find_tool(name)))
    except MachineError as error:
        _, _, remedy = str(error).partition(": ")
        return MachineFinding(name, "warning", f"not found: '{command}' needs it{otherwise}", remedy)
