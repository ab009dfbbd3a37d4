"""Cases of problem.yaml that can't be made, found on the meta device: without memory, draws or a run."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import torch

from harness.errors import InvalidFile
from harness.referee.answers.invalid_problem import InvalidProblem
from harness.referee.answers.reference import Reference
from harness.workspace.problem import FULL, Problem

_TEXT = "problem.py"
_IS_OF_META = "meta"
"""A word of torch's for what tensors without memory can't do, which real ones may."""


def unfit_cases(problem: Problem) -> list[InvalidFile]:
    """Say what is wrong with each case whose values the problem's code refuses.

    Code that fails at the full shape as well may need real memory: of it nothing is known.
    """
    forward = dataclasses.replace(problem, backward=False)  # a step's gradients are found by a run
    others = [case for case in problem.cases if case != FULL]
    unknown = _failures(forward, FULL) if others else {}
    if _TEXT in unknown:
        return []
    found = []
    for case in others:
        for what, why in _failures(forward, case).items():
            if why is not None and what not in unknown:
                path = problem.folder / "problem.yaml"
                found.append(InvalidFile(f"{path}: cases.{case}: {what} fails with these values: {why}"))
    return found


def _failures(problem: Problem, case: str) -> dict[str, str | None]:
    """Name the parts of a problem that fail in a case, each with its error; None where memory alone is missing."""
    failures: dict[str, str | None] = {}

    def tried(name: str, make: Callable[[], object]) -> object:
        try:
            return make()
        except InvalidProblem as error:
            failures[name] = None if _IS_OF_META in (why := _why(error)) else why
        except (torch.OutOfMemoryError, MemoryError):
            failures[name] = None
        return None

    reference = tried(_TEXT, lambda: Reference(problem, case, "cpu"))
    if isinstance(reference, Reference):
        tried("get_inputs()", reference.forward_specs)
        tried("Model(*init_inputs)", reference.construct_on_meta)
    return failures


def _why(error: InvalidProblem) -> str:
    cause = error.__cause__
    return f"{type(cause).__name__}: {cause}".splitlines()[0] if cause else str(error)
