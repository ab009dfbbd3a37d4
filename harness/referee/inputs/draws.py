"""The inputs of calls: get_inputs() under a secret seed, as drawn or changed by a fair variant."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from harness.model.check import Tolerance
from harness.referee.answers.invalid_problem import InvalidProblem
from harness.referee.answers.kept import SeededInputs
from harness.referee.answers.oracle import copied
from harness.referee.answers.rows import is_floating
from harness.referee.inputs.fairness import fair_inputs
from harness.referee.inputs.structure import InputStructure, structures_of
from harness.referee.inputs.ties import has_open_order, without_ties
from harness.referee.inputs.variants import Ladder, Variant, endangers_device, in_one_row, ladders
from harness.referee.setting import Setting

_LOOKED_AT = 3
"""The number of draws that must show a structure for it to count."""
_AMBIGUOUS = ("ties", "few_terms")
"""Variants with equal values, which have several right answers where an order is open among these."""
_TRIED = {"cuda": 2**20, "cpu": 2**12}
"""The number of elements of each output on which a variant is tried, where rows are independent."""


@dataclass(frozen=True)
class Drawn:
    """A way to make the inputs of one call.

    `tolerances`, one per output, hold for a variant; None for the problem's own. `decides`: whether wrong values are a
    verdict; else they make a solution fragile.
    """

    seed: int
    variant: Variant | None = None
    tolerances: tuple[Tolerance, ...] | None = None
    decides: bool = True


@dataclass(frozen=True)
class FairVariants:
    """Draws with variants that the reference bears; `remarks` name the variants that it doesn't."""

    drawn: tuple[Drawn, ...]
    remarks: tuple[str, ...]


def make_inputs(setting: Setting, drawn: Drawn) -> SeededInputs:
    """Make the inputs anew; the same draw gives equal tensors every time."""
    inputs = setting.reference.make_inputs(drawn.seed)
    inputs = inputs if drawn.variant is None else drawn.variant.apply(inputs, drawn.seed)
    return SeededInputs(without_ties(inputs) if has_open_order(setting) else inputs, drawn.seed)


def fair_variants(setting: Setting) -> FairVariants:
    """Draw the problem's variants, or take those that were drawn for an earlier solution: by seeds of their own, so
    that a seed repeats what follows either way."""
    known = setting.lessons.variants
    if setting.repeat not in known:
        with setting.lessons.learning():
            rng = random.Random(setting.seed("variants"))
            known[setting.repeat] = draw_variants(setting, setting.seeds("variants"), rng)
    found: FairVariants = known[setting.repeat]
    return found


def leave_out(setting: Setting, unfair: Drawn) -> str:
    """Try no later solution with a variant that turned out to be unfair. Return the remark that says so."""
    assert unfair.variant is not None
    remark = (
        f"{setting.case}: {unfair.variant.words} inputs decide nothing, since the plainest arithmetic errs there by as "
        "much as a wrong element"
    )
    found = setting.lessons.variants[setting.repeat]
    drawn = tuple(one for one in found.drawn if one.seed != unfair.seed)
    setting.lessons.variants[setting.repeat] = FairVariants(drawn, (*found.remarks, remark))
    return remark


def draw_variants(setting: Setting, seeds: Iterator[int], rng: random.Random) -> FairVariants:
    """Draw the problem's variants: one or two strengths of each kind, and where rows are independent one variant of a
    single row."""
    if not _has_floating_inputs(setting) or not setting.problem.variants:
        return FairVariants((), ())
    if operation := endangers_device(setting.problem.source):
        return FairVariants((), (f"no input variants: {operation} aborts the device where an input is no probability",))
    structures = seen_structures(setting, seeds)
    drawn, left_out = [], []
    ambiguous = _AMBIGUOUS if has_open_order(setting) else ()
    for name in (name for name in setting.problem.variants if name not in ambiguous):
        for ladder in ladders(name, rng):
            found = list(_climb(setting, ladder.keeping(structures), seeds))
            drawn += found
            if not any(one.decides for one in found):
                left_out.append(ladder.moderate[-1].words)
    if partly := _in_one_row(setting, drawn, next(seeds), rng):
        drawn.append(partly)
    remark = f"{setting.case}: not tried with {', '.join(left_out)} inputs, where the reference itself errs or fails"
    return FairVariants(tuple(drawn), (remark,) if left_out else ())


def seen_structures(setting: Setting, seeds: Iterator[int]) -> tuple[InputStructure, ...]:
    """The structure of each input as several draws show it; empty where no input has any."""
    structures = structures_of(setting.reference.make_inputs(next(seeds)) for _ in range(_LOOKED_AT))
    return structures if any(structures) else ()


def _climb(setting: Setting, ladder: Ladder, seeds: Iterator[int]) -> Iterator[Drawn]:
    """Find the strongest fair draw, and a moderate one as well where the strongest decides nothing."""
    for variants in (ladder.far, ladder.moderate):
        fair = next((found for variant in variants if (found := _try(setting, variant, next(seeds)))), None)
        if fair is not None:
            yield fair
            if fair.decides:
                return


def _try(setting: Setting, variant: Variant, seed: int) -> Drawn | None:
    """The draw, where the variant is fair; tried on some rows where rows are independent."""
    few = _TRIED[setting.reference.device]
    try:
        # On a GPU memory is scarcer than time.
        kept = [] if setting.on_gpu else setting.reference.make_inputs(seed)

        def drawn() -> list[Any]:
            return copied(kept) if kept else setting.reference.make_inputs(seed)

        def plain() -> Sequence[torch.Tensor]:
            return setting.oracle.answer_anywhere(setting.some_rows(drawn(), few))

        is_whole = not (setting.oracle.has_rows or has_open_order(setting))  # and so what solutions get

        def changed_by(change: Variant) -> list[Any]:
            changed = setting.some_rows(change.apply(drawn(), seed), few)
            return SeededInputs(changed, seed) if is_whole and change is variant else changed

        fair = fair_inputs(setting, variant, changed_by, plain)
    except InvalidProblem:
        return None
    except (torch.OutOfMemoryError, MemoryError):
        setting.lessons.is_short = True
        return None
    return Drawn(seed, variant, fair.tolerances, fair.decides) if fair else None


def _in_one_row(setting: Setting, fair: list[Drawn], seed: int, rng: random.Random) -> Drawn | None:
    """Make one row large and negative, if the reference bears whole inputs like that: a kernel that chooses a method by
    a sample of its inputs takes all of them for small and positive. The milder of both tolerances holds."""
    wild = [one for one in fair if one.variant and one.variant.name == "negative" and one.decides]
    rows = setting.oracle.rows(setting.reference.make_inputs(seed)) if wild else None
    variant, tolerances = (wild[-1].variant, wild[-1].tolerances) if wild else (None, None)
    if variant is None or tolerances is None or rows is None or not rows.are_items or rows.count < 2:
        return None
    milder = tuple(max(pair, key=lambda one: one.atol) for pair in zip(setting.tolerances, tolerances, strict=True))
    return Drawn(seed, in_one_row(variant, rng.randrange(rows.count)), milder)


def _has_floating_inputs(setting: Setting) -> bool:
    inputs = setting.meta_inputs if setting.meta_inputs is not None else setting.reference.make_inputs(0)
    return any(map(is_floating, inputs))
