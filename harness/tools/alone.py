"""Tools that have the GPU to themselves: measuring its ceilings, and judging problems."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from harness.devices import Choice, choose_backend, driver_version
from harness.errors import MachineError
from harness.model.ceilings import Ceilings
from harness.model.problem_check import ProblemCheck
from harness.referee.ceilings.ceilings import ceilings_path, device_ceilings, known_ceilings, renew_ceilings
from harness.referee.mutants.problem_check import check_problem
from harness.referee.setting import draw_master_seed
from harness.run.cache import cache_folder
from harness.run.gpu_lock import alone_on_gpu
from harness.workspace.problem import Problem
from harness.workspace.workspace import select_cases


def find_ceilings(again: bool, notify: Callable[[str], None]) -> tuple[Ceilings, bool, Path]:
    """Read the ceilings of the GPU, or measure them; `again`: measure, whatever is known. They come with whether an
    earlier run measured them, and where they are kept.

    Raises: MachineError without a GPU, a driver, or memory to measure in.
    """
    import torch

    if not torch.cuda.is_available():
        raise MachineError("ceilings are those of a GPU, and torch can use none here: see 'harness doctor'")
    driver = driver_version()
    if driver is None:
        raise MachineError("the driver, by which ceilings are kept, isn't named: see 'nvidia-smi' and 'harness doctor'")
    cache = cache_folder()
    path = ceilings_path(cache, driver)
    if not again and (known := known_ceilings(cache, driver)):
        return known, True, path
    with alone_on_gpu(notify):
        notify("measuring the GPU's ceilings")
        try:
            return renew_ceilings(cache, driver), False, path
        except torch.OutOfMemoryError:
            raise MachineError(
                "the GPU has too little free memory to measure its ceilings: they take 2 GiB; see 'nvidia-smi'"
            ) from None


def check_problems(
    problems: Sequence[Problem], cases: Sequence[str], backend: Choice, seed: int | None, notify: Callable[[str], None]
) -> Iterator[ProblemCheck]:
    """Yield what mutants find in each problem, one after the other. `cases`: all of each where none is named.

    The simulator plays no part: references are torch's and run on the CPU where no GPU does. Raises: MachineError;
    UsageError for a case that a problem doesn't have.
    """
    selected = [(problem, select_cases(problem, cases)) for problem in problems]
    device = "cuda" if choose_backend(backend) == "cuda" else "cpu"
    master_seed = draw_master_seed() if seed is None else seed
    with alone_on_gpu(notify) if device == "cuda" else contextlib.nullcontext():
        driver = driver_version() if device == "cuda" else None
        ceilings = device_ceilings(cache_folder(), driver) if driver else None
        for problem, names in selected:
            yield check_problem(problem, names, master_seed, device, notify, ceilings)
