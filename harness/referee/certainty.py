"""The verdicts of the simulator that are sure to be a GPU's as well, so that none need be asked.

A wrong answer here accuses an honest kernel. So what a GPU may see otherwise goes on to it: faults that a GPU may not
meet (races, barriers, memory), values near the tolerance, inputs and shapes that the problem's author didn't write, and
solutions that ask which device they are on.
"""

from __future__ import annotations

import math
import re

from harness.model.check import Check, OutputComparison
from harness.model.evaluation import Evaluation, Failure
from harness.model.verdict import Verdict
from harness.referee.buffers.turns import DOESNT_COMPILE
from harness.referee.shrinking import SHRUNK
from harness.referee.tolerance import FORGIVEN, MARGIN, TOLD_BY

_TIMES_THE_TOLERANCE = 8.0
"""A wrong value must be off by so many tolerances of the simulator's: those that a GPU derives from its own errors
differ by less, since the simulator measures convolutions in tf32 as well (docs/tolerance.md)."""
_OF_FORM = (Verdict.WRONG_OUTPUT_TYPE, Verdict.WRONG_SHAPE, Verdict.WRONG_DTYPE)
_OF_ITS_TEXT = {"SyntaxError", "IndentationError", "TabError", "NameError", "UnboundLocalError"}
"""Python's exceptions that follow from a text alone."""
_NO_CLASS = "defines no class 'ModelNew'"
_DEVICE_DEPENDENT = re.compile(
    r"get_?device_?(properties|capability|name|attribute)|DeviceProp\b|DeviceGetAttribute|CurrentDeviceProperties|"
    r"cudaOccupancy|__CUDA_ARCH|get_arch_list|mem_?get_?info|"
    r"has_triton|is_bf16_supported",
    re.IGNORECASE,
)
_BETWEEN_SCALES = MARGIN / (2 * TOLD_BY)
"""The part of FORGIVEN that a value must be off by: twice what a tolerance that tells wrong answers may be."""


def is_certain(evaluation: Evaluation) -> bool:
    """Say whether a simulated evaluation's verdict is a GPU's, too. The simulator's checked build must have judged: it
    alone tells wrong values from those of a race or of unwritten memory."""
    failure = evaluation.failure
    if failure is None or not evaluation.config.correctness.sanitize or _asks_for_its_device(evaluation):
        return False
    if evaluation.verdict is Verdict.LOAD_ERROR:
        return _follows_from_text(failure)
    if failure.case is None or failure.case == SHRUNK:
        return False
    if evaluation.verdict is Verdict.WRONG_VALUES:
        failed = [check for check in evaluation.checks if not check.passed]
        return any(_is_far_off(check, evaluation.problem.precision) for check in failed)
    is_first_call = all(check.case != failure.case for check in evaluation.checks)
    if evaluation.verdict is Verdict.COMPILE_ERROR:  # of C++, nvcc may think otherwise
        return is_first_call and failure.reason.startswith(DOESNT_COMPILE)
    if evaluation.verdict is Verdict.RUNTIME_ERROR:
        return is_first_call and _follows_from_text(failure)
    return evaluation.verdict in _OF_FORM and is_first_call


def _asks_for_its_device(evaluation: Evaluation) -> bool:
    return any(_DEVICE_DEPENDENT.search(text) for text in evaluation.solution.files.values())


def _follows_from_text(failure: Failure) -> bool:
    return failure.reason.partition(" ")[0] in _OF_ITS_TEXT or _NO_CLASS in failure.reason


def _is_far_off(check: Check, precision: str) -> bool:
    """Say whether values are wrong beyond any tolerance of a GPU's, with inputs as the problem draws them."""
    if check.variant is not None or check.case == SHRUNK:
        return False
    forgiven = max(FORGIVEN["tf32"], FORGIVEN.get(precision, 0.0))
    return any(_is_outside(output, forgiven * _BETWEEN_SCALES) for output in check.outputs)


def _is_outside(output: OutputComparison, least: float) -> bool:
    """Say whether a finite value is off by `least` local scales and by many tolerances. NaN, infinities and what must
    be equal have no distance: unwritten memory and ties between equals look the same."""
    if not math.isfinite(output.worst) or output.worst < _TIMES_THE_TOLERANCE:
        return False
    scales = output.tolerance.rtol  # of a derived tolerance: how many local scales it is
    return scales == 0 or output.worst * scales >= least
