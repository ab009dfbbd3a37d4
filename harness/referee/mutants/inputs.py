"""The inputs of a case to try mutants on: as much of it as is worth examining, and as this machine can bear."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from harness.model.check import Tolerance
from harness.referee.answers.comparison import Comparison
from harness.referee.answers.rows import Rows
from harness.referee.setting import Setting

_EXAMINED_BYTES = {"cuda": 512 * 2**20, "cpu": 4 * 2**20}
"""Inputs and outputs in float64 on which mutants are tried, where items of dimension 0 are independent of each other:
more of them are more of the same."""
_CPU_BYTES = 256 * 2**20
"""Inputs and outputs of a case that a CPU makes in seconds (torch.rand: 14 to 20 ns an element)."""
_CPU_WHOLE_BYTES = 64 * 2**20
"""The same where all of the case must be examined."""
_CPU_CALL_S = 2.0
"""A case whose reference takes longer than this on a CPU is left to a GPU: mutants take a hundred calls."""


class TooLarge(Exception):
    """A case that this device can't examine."""


@dataclass(frozen=True)
class MutantInputs:
    """Inputs to examine, and others of the same shapes: the first `examined` of `rows` where there are more.

    `worst`: the native reference's largest error over the whole case, as a multiple of the tolerance.
    """

    inputs: list[Any]
    other: list[Any]
    worst: float
    complaints: tuple[str, ...] = ()
    rows: int | None = None
    examined: int | None = None


def tolerances_of(setting: Setting) -> tuple[Tolerance, ...]:
    """Of each output, for inputs as get_inputs() draws them."""
    return setting.tolerances


def worst_error(got: Sequence[torch.Tensor], want: Sequence[torch.Tensor], tolerances: Sequence[Tolerance]) -> float:
    """The largest error of all outputs, as a multiple of the tolerance."""
    worst = 0.0
    for tensor, right, tolerance in zip(got, want, tolerances, strict=True):
        comparison = Comparison(tuple(right.shape), tensor.dtype, tolerance)
        comparison.add(tensor, right)
        worst = max(worst, comparison.result().worst)
    return worst


def copied(inputs: Sequence[Any], rows: Rows | None = None, examined: int | None = None) -> list[Any]:
    """What the first `examined` rows take, or all, in memory of its own."""
    part = inputs if rows is None or examined is None else rows.of(inputs, slice(0, examined))
    return [value.clone() if isinstance(value, torch.Tensor) else value for value in part]


def are_equal(one: Sequence[Any], two: Sequence[Any]) -> bool:
    """Of the tensors; a NaN equals itself."""
    pairs = [pair for pair in zip(one, two, strict=True) if isinstance(pair[0], torch.Tensor)]
    return all(bool(((a == b) | ((a != a) & (b != b))).all()) for a, b in pairs)


def _require_bearable(setting: Setting) -> None:
    if setting.reference.on_gpu or setting.meta_inputs is None:
        return
    nbytes = 4 * _elements(setting, setting.meta_inputs)  # near enough
    if nbytes > (_CPU_BYTES if setting.problem.independent_batch else _CPU_WHOLE_BYTES):
        raise TooLarge(f"{nbytes / 1e9:.2g} GB of inputs and outputs: examine it on a GPU")


def draw_mutant_inputs(setting: Setting) -> MutantInputs:
    """Inputs of two seeds; of large ones, whose oracle works in pieces, as many items as are worth examining.

    Raises: TooLarge; InvalidProblem.
    """
    _require_bearable(setting)
    inputs = setting.reference.make_inputs(setting.seed("inputs", 0))
    if setting.oracle.find_rows(inputs, setting.spec):
        inputs = setting.reference.make_inputs(setting.seed("inputs", 0))
    rows, examined = _worth_examining(setting, inputs)
    worst = _worst_of_reference(setting, inputs)
    cut = copied(inputs, rows, examined)
    del inputs
    other = copied(setting.reference.make_inputs(setting.seed("inputs", 1)), rows, examined)
    complaints = tuple(_complaints_on_seeds(setting, cut, other, rows, examined))
    return MutantInputs(cut, other, worst, complaints, rows.count if rows else None, examined)


def _worth_examining(setting: Setting, inputs: Sequence[Any]) -> tuple[Rows | None, int | None]:
    """The rows, and how many of them to examine; None twice for all of the case."""
    rows = setting.oracle.rows(inputs, setting.spec)
    if not rows:
        return None, None
    budget = _EXAMINED_BYTES["cuda" if setting.reference.on_gpu else "cpu"]
    examined = max(2, budget * rows.count // (8 * _elements(setting, inputs)))  # two, to see them mixed up
    return (rows, examined) if examined < rows.count else (None, None)


def _complaints_on_seeds(
    setting: Setting, inputs: Sequence[Any], other: Sequence[Any], rows: Rows | None, examined: int | None
) -> Iterator[str]:
    again = copied(setting.reference.make_inputs(setting.seed("inputs", 0)), rows, examined)
    if not are_equal(inputs, again):
        yield (
            f"{setting.case}: get_inputs() gives different inputs under the same seed: results couldn't be repeated; "
            "draw from torch's, random's or numpy's generators alone"
        )
    if any(isinstance(value, torch.Tensor) for value in inputs) and are_equal(inputs, other):
        yield f"{setting.case}: every seed gives the same inputs: one answer kept for ever would pass; draw at random"


def _worst_of_reference(setting: Setting, inputs: Sequence[Any]) -> float:
    """The native reference as if it were a solution: its largest error as a multiple of the tolerance.

    Raises: TooLarge where a CPU takes too long for it.
    """
    started = time.monotonic()
    got = setting.oracle.native(inputs)
    if not setting.reference.on_gpu and (seconds := time.monotonic() - started) > _CPU_CALL_S:
        raise TooLarge(f"one call takes {seconds:.0f} s here: examine it on a GPU")
    worst = 0.0
    for piece in setting.oracle.pieces(inputs, setting.spec):
        part = [tensor[piece.rows] if tensor.dim() else tensor for tensor in got]
        worst = max(worst, worst_error(part, piece.outputs, tolerances_of(setting)))
    return worst


def _elements(setting: Setting, inputs: Sequence[Any]) -> int:
    """Of inputs and outputs."""
    read = sum(value.numel() for value in inputs if isinstance(value, torch.Tensor))
    return read + sum(math.prod(shape) for shape in setting.spec.shapes)
