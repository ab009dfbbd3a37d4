"""KernelBench's names for problems and samples, and ours for the same: each can be told from the other."""

from __future__ import annotations

import re
from dataclasses import dataclass

_PROBLEM = re.compile(r"level(\d+)_((\d+)(?:_.*)?)")
_SAMPLE = re.compile(r"(.+)_sample_(\d+)")


@dataclass(frozen=True, order=True)
class KernelBenchProblem:
    """A problem by its level, its number there, and its file's name without '.py'."""

    level: int
    number: int
    stem: str

    @property
    def name(self) -> str:
        """Our folder's name, e.g. 'level1_26_GELU_'."""
        return f"level{self.level}_{self.stem}"

    @property
    def file(self) -> str:
        """KernelBench's name, e.g. '26_GELU_.py'."""
        return f"{self.stem}.py"


def kernelbench_problem(name: str) -> KernelBenchProblem | None:
    """The problem of a folder such as 'level1_26_GELU_'; None for a name that has no level and number."""
    match = _PROBLEM.fullmatch(name)
    return KernelBenchProblem(int(match[1]), int(match[3]), match[2]) if match else None


def solution_name(run: str, sample: int) -> str:
    return f"{run}_sample_{sample}"


def run_and_sample(solution: str) -> tuple[str, int]:
    """The run and the sample that a solution's name holds; any other name is a run whose only sample is 0."""
    match = _SAMPLE.fullmatch(solution)
    return (match[1], int(match[2])) if match else (solution, 0)
