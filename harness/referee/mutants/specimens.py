"""A case's inputs, and its variants', with their right answers: what mutants are tried on."""

from __future__ import annotations

import contextlib
import dataclasses
import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

import torch

from harness.model.check import Tolerance
from harness.model.problem_check import Draw
from harness.referee.answers.reference import InvalidProblem
from harness.referee.inputs.draws import seen_structures
from harness.referee.inputs.fairness import fair_tolerances
from harness.referee.inputs.standing import decides, tells
from harness.referee.inputs.variants import Ladder, Variant, endangers_device, ladders
from harness.referee.mutants.inputs import (
    MutantInputs,
    are_equal,
    copied,
    draw_mutant_inputs,
    tolerances_of,
    worst_error,
)
from harness.referee.mutants.mutants import Specimen
from harness.referee.mutants.recomputed import ROUNDINGS, is_inexact_in
from harness.referee.setting import Setting
from harness.referee.tolerance.derive import Evidence


@dataclass(frozen=True)
class Seen:
    """A specimen and what was seen of it. `exact` are the oracle's outputs in its own dtype."""

    specimen: Specimen
    exact: tuple[torch.Tensor, ...]
    draw: Draw
    facts: set[str]
    complaints: tuple[str, ...]


def specimens(setting: Setting, skipped: dict[str, str]) -> Iterator[Seen]:
    """The case as get_inputs() draws it, then its variants. `skipped` learns which of them don't count, and why.

    Raises: TooLarge, InvalidProblem.
    """
    drawn = draw_mutant_inputs(setting)
    base = _seen(setting, None, drawn, drawn.worst, tolerances_of(setting))
    yield base
    if not any(isinstance(value, torch.Tensor) and value.is_floating_point() for value in drawn.inputs):
        return
    if operation := endangers_device(setting.problem.source):
        skipped[f"{setting.case}, variants"] = f"{operation} aborts the device where an input is no probability"
        return
    rng = random.Random(setting.seed("variants"))
    structures = seen_structures(setting, (setting.seed("structure", number) for number in count()))
    for name in setting.problem.variants:
        for ladder in ladders(name, rng):
            seen = _fair(setting, drawn, base, ladder.keeping(structures))
            if seen is None:
                skipped[f"{setting.case}, {ladder.moderate[-1].words}"] = (
                    "the reference itself leaves the tolerance there"
                )
            else:
                yield seen


def _fair(setting: Setting, drawn: MutantInputs, base: Seen, ladder: Ladder) -> Seen | None:
    """Of variants that differ in strength the strongest which the reference can bear and which decides; as draws.py has
    it for solutions."""
    for variant in (*ladder.far, *ladder.moderate):
        seed = setting.seed("variant", variant.words)

        def given(variant: Variant, seed: int = seed) -> list[Any]:
            return variant.apply(copied(drawn.inputs), seed)

        with contextlib.suppress(InvalidProblem):  # the reference refuses such inputs
            inputs, other = given(variant), variant.apply(copied(drawn.other), seed)
            tolerances = fair_tolerances(setting, variant, inputs, base.exact)
            if tolerances is None:
                continue
            want = setting.oracle.answer(inputs)
            if tells(setting.oracle, variant, inputs, want) and decides(
                setting.oracle, variant, given, base.exact, want
            ):
                changed = dataclasses.replace(drawn, inputs=inputs, other=other, complaints=())
                worst = worst_error(setting.oracle.native(copied(inputs)), want, tolerances)
                return _seen(setting, variant.words, changed, worst, tolerances)
    return None


def _seen(
    setting: Setting, variant: str | None, drawn: MutantInputs, worst: float, tolerances: tuple[Tolerance, ...]
) -> Seen:
    """`worst`: the reference's error on these inputs."""
    exact = setting.oracle.answer(drawn.inputs)
    want, other_want = setting.rounded_answer(drawn.inputs), setting.rounded_answer(drawn.other)
    evidence = setting.evidence_on(drawn.inputs) if setting.problem.tolerance is None else ()
    specimen = Specimen(setting, drawn.inputs, want, drawn.other, other_want, evidence)
    draw = Draw(
        case=setting.case,
        variant=variant,
        tolerances=tolerances,
        rms=tuple(_rms(output) for output in exact),
        reference_worst=worst,
        repeats=are_equal(setting.oracle.native(drawn.inputs), setting.oracle.native(drawn.inputs)),
        rows=drawn.rows,
        examined=drawn.examined,
    )
    return Seen(specimen, exact, draw, _facts(specimen), (*drawn.complaints, *_complaints_on_reference(draw, evidence)))


def _complaints_on_reference(draw: Draw, evidence: Sequence[Evidence]) -> Iterator[str]:
    worst = draw.reference_worst
    off = "any distance, where none is tolerated," if math.isinf(worst) else f"{worst:.3g} times the tolerance"
    if draw.reference_worst > 1 and draw.repeats:
        yield (
            f"{draw.label}: the reference is up to {off} away from its float64 oracle: raise the tolerance, or declare "
            "the precision that it computes in"
        )
    elif not draw.repeats and (
        draw.reference_worst > 1
        or all(tolerance.is_exact for tolerance in draw.tolerances)
        or not all(one.is_telling for one in evidence)
    ):
        yield (
            f"{draw.label}: the reference gives different outputs for the same inputs, up to {off} away from its "
            "oracle: let forward() draw no random numbers, and use operations that repeat themselves"
        )


def _facts(specimen: Specimen) -> set[str]:
    """What mutants need to know of the inputs: 'negative', and the names of roundings that change some."""
    tensors = [value for value in specimen.inputs if isinstance(value, torch.Tensor) and not value.is_complex()]
    facts = {name for name in ROUNDINGS if is_inexact_in(name, specimen)}
    return facts | ({"negative"} if any(bool((tensor < 0).any()) for tensor in tensors) else set())


def _rms(output: torch.Tensor) -> float:
    wide = output.abs().double() if output.is_complex() else output.double()
    finite = wide[torch.isfinite(wide)]
    return float(finite.square().mean().sqrt()) if finite.numel() else 0.0
