"""The right answer to a turn of a few blocks, and what these wrote held against it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import torch

from harness.model.check import Check, OutputComparison, Scope, Tolerance
from harness.model.verdict import Verdict
from harness.referee.answers.comparison import Comparison, comparison_of
from harness.referee.answers.invalid_problem import InvalidProblem
from harness.referee.buffers.buffers import Buffers
from harness.referee.excuses import evidence_against, may_excuse
from harness.referee.inputs.draws import Drawn, make_inputs
from harness.referee.inputs.stretched import rows_of
from harness.referee.judgement import ROUNDS
from harness.referee.setting import Setting
from harness.referee.tolerance import ErrorEvidence, least_tolerance
from harness.referee.written_values import runs, was_changed, was_written, written_places, written_rows
from harness.sandbox.outcome import SolutionFailed

_Found = TypeVar("_Found")


@dataclass(eq=False)
class SampledAnswer:
    """The right answer for the whole case, or by rows alone for the first and the last row (dimension 0) that the
    sampled blocks touched, or of all where they touched none. What counts is what they wrote; where that is nothing but
    zeros, all but the poison."""

    setting: Setting
    buffers: Buffers
    inputs: Sequence[Any]
    seed: int
    is_whole: bool
    parts: Sequence[tuple[torch.Tensor, torch.Tensor]] = ()
    """Outputs of a whole case after the launch and without it; what it changed counts."""

    def __post_init__(self) -> None:
        self._outputs = list(zip(self.buffers.outputs(), self.buffers.output_buffers(), strict=True))
        written = [written_rows(*pair) for pair in self._outputs]
        self._are_zeros = [not one.numel() for one in written]
        rows = [_outermost(found, output) for found, (output, _) in zip(written, self._outputs, strict=True)]
        self._rows = None if self.is_whole else rows
        self._want = self._of_each_output(self.setting.oracle.answer)

    @property
    def is_constant(self) -> bool:
        """True where every output has several right values, all of them the same."""
        return all(want.numel() > 1 and bool((want == want.flatten()[0]).all()) for want in self._want)

    def check(self, is_all: bool = False) -> Check:
        """Judge by the least tolerance where problem.yaml names none. Where that isn't kept, the reference's own error
        decides: finding that out takes longer than all the rest. `is_all`: all blocks have run. Raises: InvalidProblem.
        """
        scope: Scope = "complete" if self.is_whole else "row"
        return self.setting.check(self.seed, scope if is_all else "sampled_blocks", self._judged(is_all))

    def _judged(self, is_all: bool) -> tuple[OutputComparison, ...]:
        named, precision = self.setting.problem.tolerance, self.setting.problem.precision
        pairs = zip(self._want, self.setting.spec.dtypes, strict=True)
        held_to = [named or least_tolerance(want, dtype, precision) for want, dtype in pairs]
        compared = self._compared(held_to, is_all)
        for _ in range(ROUNDS):
            if named or all(output.passed for output in compared):
                break
            evidence = self._evidence_against(compared)
            if not (self._is_divided or all(one.is_telling for one in evidence)):
                raise InvalidProblem(
                    "the reference's own error at the full shape is such that a wrong element would pass"
                )
            milder = [one.looser(found.tolerance) for one, found in zip(held_to, evidence, strict=True)]
            if milder == held_to or not may_excuse(milder, compared):
                break
            held_to, compared = milder, self._compared(milder, is_all)
        return compared

    @property
    def _is_divided(self) -> bool:
        """True where evidence is taken on rows of a whole case, which say nothing of the case."""
        return self._rows is None and self.setting.oracle.rows(self.inputs) is not None

    def _evidence_against(self, compared: Sequence[OutputComparison]) -> Sequence[ErrorEvidence]:
        """Measure the reference's errors; of a whole case on what was found outside, where its rows are independent."""
        if self._rows is not None:
            return self._of_each_output(self.setting.evidence_on)
        if self.setting.oracle.find_rows(self.inputs):
            self.inputs = make_inputs(self.setting, Drawn(self.seed))  # a run may have changed them
        return evidence_against(self.setting, compared, self.inputs)

    def _of_each_output(self, find: Callable[[Sequence[Any]], Sequence[_Found]]) -> Sequence[_Found]:
        """Return what `find` gives for each output, by the inputs that count for it."""
        if self._rows is None:
            return find(self.inputs)
        return [find(rows_of(self.inputs, rows))[number] for number, rows in enumerate(self._rows)]

    def _compared(self, tolerances: Sequence[Tolerance], is_all: bool) -> tuple[OutputComparison, ...]:
        if self.parts:
            each = zip(self.parts, self._want, tolerances, strict=True)
            return tuple(comparison_of(part[0], want, held_to, was_changed(*part)) for part, want, held_to in each)
        found = []
        for number, ((output, _), want) in enumerate(zip(self._outputs, self._want, strict=True)):
            comparison = Comparison(tuple(output.shape), output.dtype, tolerances[number])
            spans = self._spans(number, output, is_all)
            if not spans:
                only = None if is_all or not output.dim() else was_written(output, or_is_zero=True)
                comparison.add(output, want, only=only)
            for start, stop, first in spans:
                part = output[start:stop]
                only = None if is_all else was_written(part, or_is_zero=self._are_zeros[number])
                comparison.add(part, want[first : first + stop - start], (start,), only)
            found.append(comparison.result())
        return tuple(found)

    def uncovered(self, grid_blocks: int, most: int) -> SolutionFailed | None:
        """Return the failure where the blocks that ran, `most` at most, write so little that the whole grid can't fill
        the outputs: what no block writes is seen by nobody. Half of those that ran may write nothing. Zeros count on
        neither side: memory may hold them before."""
        ran = min(most, grid_blocks)
        for (output, _), (written, wanted) in zip(self._outputs, self._written(), strict=True):
            if 0 < 2 * written * grid_blocks < wanted * ran:
                return SolutionFailed(
                    Verdict.UNSUPPORTED,
                    f"the {ran} blocks that ran wrote {written:,} of an output's {output.numel():,} values, at which "
                    f"rate the grid's {grid_blocks:,} can't fill it; what the others write isn't known here",
                    next_step="make sure that the grid covers the output at this shape, or run it on a GPU",
                )
        return None

    def _written(self) -> Iterator[tuple[int, int]]:
        """Count what was written of each output, and what had to be."""
        if self.parts:
            for (after, before), want in zip(self.parts, self._want, strict=True):
                least = least_tolerance(want, after.dtype, self.setting.problem.precision)
                yield int(was_changed(after, before).sum()), comparison_of(before, want, least).mismatches
            return
        for (output, buffer), want in zip(self._outputs, self._want, strict=True):
            written = sum(places.numel() for places in written_places(output, buffer))
            yield written, int((want.to(output.dtype) != 0).sum()) * output.numel() // max(1, want.numel())

    def _spans(self, number: int, output: torch.Tensor, is_all: bool) -> list[tuple[int, int, int]]:
        """Ranges of an output's rows, each with its first row in `want`; none for all of the output."""
        if self._rows is not None:
            return [(row, row + 1, place) for place, row in enumerate(self._rows[number])]
        if is_all or not output.dim():
            return []
        rows = written_rows(*self._outputs[number])
        return [(start, stop, start) for start, stop in runs(rows, output)] if rows.numel() else []


def _outermost(rows: torch.Tensor, output: torch.Tensor) -> list[int]:
    """The first and the last of the rows, or of all that the output has, where there is none."""
    first, last = (int(rows[0]), int(rows[-1])) if rows.numel() else (0, math.prod(output.shape[:1]) - 1)
    return list(dict.fromkeys((first, last)))
