"""What the calls of a turn are given: get_inputs() under a secret seed, as it is or in a variant that is fair."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch

from harness.records.check import Tolerance
from harness.referee.answers.reference import InvalidProblem
from harness.referee.answers.rows import Rows
from harness.referee.inputs.variants import (
    Variant,
    endangers_device,
    in_one_row,
    is_ambiguous,
    is_fair,
    rungs,
    scaled_tolerances,
)
from harness.referee.setting import Setting


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
            fair = next((found for variant in rung if (found := _try(setting, variant, next(seeds), rng))), None)
            if fair is None:
                left_out.append(rung[-1].words)
            else:
                drawn.append(fair)
    if partly := _in_one_row(setting, drawn, next(seeds), rng):
        drawn.append(partly)
    remark = f"{setting.case}: not tried with {', '.join(left_out)} inputs, where the reference itself errs or fails"
    return FairVariants(tuple(drawn), (remark,) if left_out else ())


def _try(setting: Setting, variant: Variant, seed: int, rng: random.Random) -> Drawn | None:
    """The draw, where the variant is fair. On one row, where rows are independent: it says as much as all of them."""
    try:
        inputs = setting.reference.make_inputs(seed)
        rows = setting.oracle.rows(inputs, setting.spec)
        row = rng.randrange(rows.count) if rows else 0
        base = setting.oracle.answer(_part(inputs, rows, row))
        changed = _part(variant.apply(inputs, seed), rows, row)
        native = setting.oracle.native(changed)  # first: what raises in the oracle makes that float32 for good
        want = setting.oracle.answer(changed)
        own = [setting.tolerance_for(dtype) for dtype in setting.spec.dtypes]
        tolerances = scaled_tolerances(variant, own, base, want)
        return Drawn(seed, variant, tolerances) if is_fair(variant, native, base, want, tolerances) else None
    except (InvalidProblem, torch.OutOfMemoryError, MemoryError):
        return None


def _in_one_row(setting: Setting, fair: list[Drawn], seed: int, rng: random.Random) -> Drawn | None:
    """Who chooses his way by a sample of the inputs takes them for as small and positive as they were drawn: so one row
    is large and negative, where the reference bears that. What is fair for whole inputs is so for a row, by the milder
    of the two tolerances."""
    wild = [one for one in fair if one.variant and one.variant.name == "negative"]
    rows = setting.oracle.rows(setting.reference.make_inputs(seed), setting.spec) if wild else None
    variant, tolerances = (wild[-1].variant, wild[-1].tolerances) if wild else (None, None)
    if variant is None or tolerances is None or rows is None or not rows.are_items or rows.count < 2:
        return None
    own = [setting.tolerance_for(dtype) for dtype in setting.spec.dtypes]
    milder = tuple(max(pair, key=lambda one: one.atol) for pair in zip(own, tolerances, strict=True))
    return Drawn(seed, in_one_row(variant, rng.randrange(rows.count)), milder)


def _part(inputs: list[Any], rows: Rows | None, row: int) -> list[Any]:
    """A row of its own, where there are rows: the whole is about to be changed in place."""
    return inputs if rows is None else rows.together(inputs, (row,))


def _has_floating_inputs(setting: Setting) -> bool:
    inputs = setting.meta_inputs if setting.meta_inputs is not None else setting.reference.make_inputs(0)
    return any(isinstance(value, torch.Tensor) and value.is_floating_point() for value in inputs)
