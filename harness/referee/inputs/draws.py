"""What the calls of a turn are given: get_inputs() under a secret seed, as it is or in a variant that is fair."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch

from harness.records.check import Tolerance
from harness.referee.answers.oracle import rows_of
from harness.referee.answers.reference import InvalidProblem
from harness.referee.inputs.fairness import fair_tolerances
from harness.referee.inputs.variants import Variant, endangers_device, in_one_row, is_ambiguous, rungs
from harness.referee.setting import Setting

_TRIED = 2**12
"""Elements of each output on which a variant is tried, where rows are independent."""


@dataclass(frozen=True)
class Drawn:
    """The inputs of one call. `tolerances`, one per output, hold for a variant; None: the problem's own."""

    seed: int
    variant: Variant | None = None
    tolerances: tuple[Tolerance, ...] | None = None


@dataclass(frozen=True)
class FairVariants:
    """Those under which the reference agrees with itself; `remarks` say which were left out."""

    drawn: tuple[Drawn, ...]
    remarks: tuple[str, ...]


def make_inputs(setting: Setting, drawn: Drawn) -> list[Any]:
    """Fresh tensors, equal at every call."""
    inputs = setting.reference.make_inputs(drawn.seed)
    return inputs if drawn.variant is None else drawn.variant.apply(inputs, drawn.seed)


def draw_variants(setting: Setting, seeds: Iterator[int], rng: random.Random) -> FairVariants:
    """One draw for every variant of the problem (two for 'rescaled': up and down); and where rows are independent one
    of a single row alone."""
    if not _has_floating_inputs(setting) or not setting.problem.variants:
        return FairVariants((), ())
    source, dtypes = setting.problem.source, setting.spec.dtypes
    if operation := endangers_device(source):
        return FairVariants((), (f"no input variants: {operation} aborts the device where an input is no probability",))
    drawn, left_out = [], []
    for name in (name for name in setting.problem.variants if not is_ambiguous(name, source, dtypes)):
        for rung in rungs(name, rng):
            fair = next((found for variant in rung if (found := _try(setting, variant, next(seeds)))), None)
            if fair is None:
                left_out.append(rung[-1].words)
            else:
                drawn.append(fair)
    if partly := _in_one_row(setting, drawn, next(seeds), rng):
        drawn.append(partly)
    remark = f"{setting.case}: not tried with {', '.join(left_out)} inputs, where the reference itself errs or fails"
    return FairVariants(tuple(drawn), (remark,) if left_out else ())


def _try(setting: Setting, variant: Variant, seed: int) -> Drawn | None:
    """The draw, where the variant is fair. On some rows, where rows are independent: they say as much as all."""
    try:
        inputs = setting.reference.make_inputs(seed)
        part = setting.some_rows(inputs, _TRIED)
        base = setting.oracle.answer(_part(inputs, part))
        changed = _part(variant.apply(inputs, seed), part)
        tolerances = fair_tolerances(setting, variant, changed, base)
        return None if tolerances is None else Drawn(seed, variant, tolerances)
    except (InvalidProblem, torch.OutOfMemoryError, MemoryError):
        return None


def _in_one_row(setting: Setting, fair: list[Drawn], seed: int, rng: random.Random) -> Drawn | None:
    """Who chooses his way by a sample of the inputs takes them for as small and positive as they were drawn: so one row
    is large and negative, where the reference bears that. What is fair for whole inputs is so for a row, by the milder
    of the two tolerances."""
    wild = [one for one in fair if one.variant and one.variant.name == "negative"]
    count = setting.oracle.common_rows(setting.reference.make_inputs(seed), setting.spec) if wild else None
    variant, tolerances = (wild[-1].variant, wild[-1].tolerances) if wild else (None, None)
    if variant is None or tolerances is None or not count or count < 2:
        return None
    milder = tuple(max(pair, key=lambda one: one.atol) for pair in zip(setting.tolerances, tolerances, strict=True))
    return Drawn(seed, in_one_row(variant, rng.randrange(count)), milder)


def _part(inputs: list[Any], part: slice) -> list[Any]:
    """Rows of their own: the whole is about to be changed in place."""
    if part == slice(None):
        return inputs
    return [value.clone() if isinstance(value, torch.Tensor) else value for value in rows_of(inputs, part)]


def _has_floating_inputs(setting: Setting) -> bool:
    inputs = setting.meta_inputs if setting.meta_inputs is not None else setting.reference.make_inputs(0)
    return any(isinstance(value, torch.Tensor) and value.is_floating_point() for value in inputs)
