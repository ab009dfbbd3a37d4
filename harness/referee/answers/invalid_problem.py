"""A problem's own mistakes, which end its judging and are no solution's fault."""

from __future__ import annotations

import re
from collections.abc import Sequence

import torch

PROBLEM_ERRORS = (Exception, SystemExit)
"""Errors that a problem's code raises. A sys.exit() in it is a mistake like any other and must not end the run."""
_LACKS_MEMORY = re.compile(r"out of memory|CUBLAS_STATUS_ALLOC_FAILED")
"""The words of torch where the driver or a library has none left: then the error is a RuntimeError."""


def lacks_memory(error: BaseException) -> bool:
    return isinstance(error, (torch.OutOfMemoryError, MemoryError)) or bool(_LACKS_MEMORY.search(str(error)))


class InvalidProblem(Exception):
    """The problem's own code fails: no solution can be judged."""


class TellsNothing(InvalidProblem):
    """A wrong kernel would pass, whatever inputs and parameters are."""


def changed_form(before: tuple[Sequence[int], str], now: tuple[Sequence[int], str]) -> InvalidProblem:
    """Make the error for an input whose shape or dtype changes from draw to draw."""
    was, becomes = (f"{dtype} of {'×'.join(map(str, shape))}" for shape, dtype in (before, now))
    return InvalidProblem(
        f"get_inputs() gives {was}, then {becomes}: shapes, and how many elements a sparse or jagged tensor stores, "
        "must stay the same, as by torch.randperm(n)[:stored]"
    )
