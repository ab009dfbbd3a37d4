"""Judging problems on this machine: on the GPU where there is one, alone on it, else on the CPU."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence

from harness.devices import Choice, choose_backend, driver_version
from harness.model.ceilings import Ceilings
from harness.model.problem_check import ProblemCheck
from harness.referee.ceilings.ceilings import device_ceilings
from harness.referee.mutants.problem_check import check_problem
from harness.referee.setting import draw_master_seed
from harness.run.cache import cache_folder
from harness.run.gpu_lock import alone_on_gpu
from harness.workspace.problem import Problem
from harness.workspace.workspace import select_cases


def check_problems(
    problems: Sequence[Problem], cases: Sequence[str], backend: Choice, seed: int | None, notify: Callable[[str], None]
) -> Iterator[ProblemCheck]:
    """What mutants find in each problem, one after the other. `cases`: all of each where none is named.

    The simulator plays no part: references are torch's and run on the CPU where no GPU does. Raises: MachineError;
    UsageError for a case that a problem doesn't have.
    """
    selected = [(problem, select_cases(problem, cases)) for problem in problems]
    device = "cuda" if choose_backend(backend) == "cuda" else "cpu"
    master_seed = draw_master_seed() if seed is None else seed
    with alone_on_gpu(notify) if device == "cuda" else contextlib.nullcontext():
        ceilings = _ceilings() if device == "cuda" else None
        for problem, names in selected:
            yield check_problem(problem, names, master_seed, device, notify, ceilings)


def _ceilings() -> Ceilings | None:
    driver = driver_version()
    return device_ceilings(cache_folder(), driver) if driver else None
