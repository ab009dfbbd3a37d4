"""Specimens: the inputs of a case and of its variants, with their right answers, on which mutants are tried.

A large case has as many rows examined as are worth it, and as this machine can bear.
"""

from __future__ import annotations

import contextlib
import math
import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

import torch

from harness.model.check import Tolerance
from harness.model.problem_check import Draw
from harness.referee.answers.invalid_problem import InvalidProblem, changed_form
from harness.referee.answers.oracle import copied, count_elements
from harness.referee.answers.output_spec import shape_and_dtype
from harness.referee.answers.roundings import ROUNDINGS
from harness.referee.answers.rows import Rows, computable, is_floating
from harness.referee.ceilings.work import nbytes_of
from harness.referee.inputs.draws import seen_structures
from harness.referee.inputs.fairness import fair_inputs
from harness.referee.inputs.variants import Ladder, Variant, endangers_device, ladders
from harness.referee.judgement import judge_values
from harness.referee.mutants.mutants import Specimen, is_inexact_in
from harness.referee.setting import Setting
from harness.referee.tolerance import ErrorEvidence, distance, rms

_EXAMINED_BYTES = {"cuda": 512 * 2**20, "cpu": 4 * 2**20}
"""The bytes of inputs and outputs, in float64, on which mutants are tried where rows are independent: more of them are
more of the same."""
_CPU_BYTES = 256 * 2**20
"""The largest case, inputs and outputs, that a CPU makes in seconds (torch.rand takes 14 to 20 ns an element)."""
_CPU_WHOLE_BYTES = 64 * 2**20
"""The same where all of the case must be examined."""
_CPU_CALL_S = 2.0
"""A case whose reference takes longer than this on a CPU is left to a GPU: mutants take a hundred calls."""


_Cut = tuple[Rows, int]
"""The rows of a case, and how many of them, the first ones, are examined."""


class TooLarge(Exception):
    """A case that this device can't examine."""


@dataclass(frozen=True)
class Examined:
    """A specimen and what was found out about it. `exact` has the oracle's outputs in its own dtype; `facts` are the
    properties of the inputs that mutants ask for (Mutant.harmless_given)."""

    specimen: Specimen
    exact: tuple[torch.Tensor, ...]
    draw: Draw
    facts: set[str]
    complaints: tuple[str, ...]


@dataclass(frozen=True)
class _CaseInputs:
    """Inputs to examine, and others of the same shapes, both after the `cut`. `worst` is the native reference's largest
    error, as a multiple of the tolerance."""

    inputs: list[Any]
    other: list[Any]
    worst: float
    complaints: tuple[str, ...] = ()
    cut: _Cut | None = None


def specimens(setting: Setting, skipped: dict[str, str]) -> Iterator[Examined]:
    """Examine a case as get_inputs() draws it, then its variants. `skipped` gets the variants left out, with reasons.

    Raises: TooLarge, InvalidProblem.
    """
    drawn = _draw_case(setting)
    base = _examine(setting, None, drawn, setting.tolerances)
    yield base
    if not any(map(is_floating, drawn.inputs)):
        return
    if operation := endangers_device(setting.problem.source):
        skipped[f"{setting.case}, variants"] = f"{operation} aborts the device where an input is no probability"
        return
    rng = random.Random(setting.seed("variants"))
    structures = seen_structures(setting, (setting.seed("structure", number) for number in count()))
    for name in setting.problem.variants:
        for ladder in ladders(name, rng):
            examined = _examine_fair(setting, drawn, base, ladder.keeping(structures))
            if examined is None:
                words = ladder.moderate[-1].words
                skipped[f"{setting.case}, {words}"] = "the reference itself leaves the tolerance there"
            else:
                yield examined


def worst_error(got: Sequence[torch.Tensor], want: Sequence[torch.Tensor], tolerances: Sequence[Tolerance]) -> float:
    """The largest error of all outputs, as a multiple of the tolerance."""
    return max(map(distance, got, want, tolerances), default=0.0)


def are_equal(one: Sequence[Any], two: Sequence[Any]) -> bool:
    """Say whether all tensors are equal; NaN equals itself."""
    pairs = [pair for pair in zip(one, two, strict=True) if isinstance(pair[0], torch.Tensor)]
    return all(bool(((a == b) | ((a != a) & (b != b))).all()) for a, b in pairs)


def _draw_case(setting: Setting) -> _CaseInputs:
    """Draw inputs under two seeds; of large ones, where rows are independent, as many rows as are worth examining.

    Raises: TooLarge; InvalidProblem.
    """
    _require_bearable(setting)
    inputs = setting.inputs_with_rows(setting.seed("inputs", 0))
    cut = _worth_examining(setting, inputs)
    worst = _worst_of_reference(setting, inputs)
    left = _copied_rows(inputs, cut)
    del inputs
    other = _copied_rows(setting.reference.make_inputs(setting.seed("inputs", 1)), cut)
    first, second = ([shape_and_dtype(one) for one in some if isinstance(one, torch.Tensor)] for some in (left, other))
    for was, becomes in zip(first, second, strict=False):
        if was != becomes:
            raise changed_form(was, becomes)
    return _CaseInputs(left, other, worst, tuple(_complaints_on_seeds(setting, left, other, cut)), cut)


def _require_bearable(setting: Setting) -> None:
    if setting.on_gpu or setting.meta_inputs is None:
        return
    tensors = (value for value in setting.meta_inputs if isinstance(value, torch.Tensor))
    nbytes = nbytes_of(tensors) + setting.spec.nbytes
    if nbytes > (_CPU_BYTES if setting.problem.independent_batch else _CPU_WHOLE_BYTES):
        raise TooLarge(f"{nbytes / 1e9:.2g} GB of inputs and outputs: examine it on a GPU")


def _worth_examining(setting: Setting, inputs: Sequence[Any]) -> _Cut | None:
    """The rows, and how many of them to examine; None for all of the case."""
    rows = setting.oracle.rows(inputs)
    if not rows:
        return None
    budget = _EXAMINED_BYTES[setting.reference.device]
    examined = max(2, budget * rows.count // (8 * count_elements(inputs, setting.spec)))  # two can be mixed up
    return (rows, examined) if examined < rows.count else None


def _copied_rows(inputs: Sequence[Any], cut: _Cut | None) -> list[Any]:
    return copied(cut[0].of(inputs, slice(0, cut[1])) if cut else inputs)


def _worst_of_reference(setting: Setting, inputs: Sequence[Any]) -> float:
    """The native reference's largest error, as a multiple of the tolerance: the reference judged as a solution.

    Raises: TooLarge where a CPU takes too long.
    """
    started = time.monotonic()
    got = setting.oracle.native(copied(inputs))
    if not setting.on_gpu and (seconds := time.monotonic() - started) > _CPU_CALL_S:
        raise TooLarge(f"one call takes {seconds:.0f} s here: examine it on a GPU")
    return max(one.worst for one in judge_values(got, inputs, setting))


def _complaints_on_seeds(
    setting: Setting, inputs: Sequence[Any], other: Sequence[Any], cut: _Cut | None
) -> Iterator[str]:
    again = _copied_rows(setting.reference.make_inputs(setting.seed("inputs", 0)), cut)
    if not are_equal(inputs, again):
        yield (
            f"{setting.case}: get_inputs() gives different inputs under the same seed: results couldn't be repeated; "
            "draw from torch's, random's or numpy's generators alone"
        )
    if any(isinstance(value, torch.Tensor) for value in inputs) and are_equal(inputs, other):
        yield f"{setting.case}: every seed gives the same inputs: one answer kept for ever would pass; draw at random"


def _examine_fair(setting: Setting, drawn: _CaseInputs, base: Examined, ladder: Ladder) -> Examined | None:
    """Examine the strongest variant that is fair and decides; None where there is none."""
    for variant in (*ladder.far, *ladder.moderate):
        seed = setting.seed("variant", variant.words)

        def changed_by(variant: Variant, seed: int = seed) -> list[Any]:
            return variant.apply(copied(drawn.inputs), seed)

        with contextlib.suppress(InvalidProblem):  # the reference refuses such inputs
            fair = fair_inputs(setting, variant, changed_by, lambda: base.exact)
            if fair is not None and fair.decides:
                worst = worst_error(setting.oracle.native(changed_by(variant)), fair.want, fair.tolerances)
                other = variant.apply(copied(drawn.other), seed)
                changed = replace(drawn, inputs=changed_by(variant), other=other, worst=worst, complaints=())
                return _examine(setting, variant.words, changed, fair.tolerances)
    return None


def _examine(setting: Setting, variant: str | None, drawn: _CaseInputs, tolerances: tuple[Tolerance, ...]) -> Examined:
    evidence: tuple[ErrorEvidence, ...] = ()
    if setting.problem.tolerance is None:
        exact, evidence = setting.answer_with_evidence(drawn.inputs)
    else:
        exact = setting.oracle.answer(drawn.inputs)
    want, other_want = setting.rounded(exact), setting.rounded(setting.oracle.answer(drawn.other))
    specimen = Specimen(setting, drawn.inputs, want, drawn.other, other_want, evidence)
    draw = Draw(
        case=setting.case,
        variant=variant,
        tolerances=tolerances,
        rms=tuple(map(rms, exact)),
        reference_worst=drawn.worst,
        repeats=are_equal(*(setting.oracle.native(copied(drawn.inputs)) for _ in range(2))),
        rows=drawn.cut[0].count if drawn.cut else None,
        examined=drawn.cut[1] if drawn.cut else None,
    )
    complaints = (*drawn.complaints, *_complaints_on_reference(draw, evidence))
    return Examined(specimen, exact, draw, _facts(specimen), complaints)


def _complaints_on_reference(draw: Draw, evidence: Sequence[ErrorEvidence]) -> Iterator[str]:
    worst = draw.reference_worst
    off = "any distance, where none is tolerated," if math.isinf(worst) else f"{worst:.3g} times the tolerance"
    if worst > 1 and draw.repeats:
        yield (
            f"{draw.label}: the reference is up to {off} away from its float64 oracle: raise the tolerance, or declare "
            "the precision that it computes in"
        )
    elif not draw.repeats and (
        worst > 1
        or all(tolerance.is_exact for tolerance in draw.tolerances)
        or not all(one.is_telling for one in evidence)
    ):
        yield (
            f"{draw.label}: the reference gives different outputs for the same inputs, up to {off} away from its "
            "oracle: let forward() draw no random numbers, and use operations that repeat themselves"
        )


def _facts(specimen: Specimen) -> set[str]:
    """'negative' where an input is, or where none is floating, since variants leave integers as they are; 'step' for a
    training step; and the names of the roundings that change an input or a weight."""
    tensors = [value for value in specimen.inputs if isinstance(value, torch.Tensor) and not value.is_complex()]
    facts = {name for name in ROUNDINGS if is_inexact_in(name, specimen)}
    facts |= {"step"} if specimen.setting.problem.backward else set()
    is_kept = not any(is_floating(tensor) for tensor in tensors)
    is_negative = is_kept or any(bool((computable(tensor) < 0).any()) for tensor in tensors)
    return facts | ({"negative"} if is_negative else set())
